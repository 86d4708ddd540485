import { describe, expect, test } from 'vitest'
import { shown } from '../support/device.ts'
import { issue, setScene, update } from './scene.ts'

const scene = setScene()

describe('write', () => {
  test('makes records that a client shows, before it starts and while it is connected', async () => {
    const { server, live, asked } = scene()
    await server.write([issue('1', { title: 'one', userId: 'ada' })])
    const client = await live()
    expect(shown(client)).toEqual({ 1: { title: 'one' } })
    expect(client.status).toMatchObject({ connection: { state: 'socket' }, data: { state: 'current' } })
    expect(await server.write([issue('2'), update('1', { title: 'uno' })], 'ada')).toEqual({ sid: 3 })
    await server.settle()
    expect(shown(client)).toEqual({ 1: { title: 'uno' }, 2: {} })
    expect(asked()).toEqual(['ws', 'bootstrap', 'delta 1'])
  })

  test('of records of another owner reaches nobody else', async () => {
    const { server, live } = scene()
    const client = await live()
    await server.write([issue('1'), issue('2', { userId: 'bob' })], 'ada')
    await server.settle()
    expect(shown(client)).toEqual({ 1: {} })
    await server.write([update('1', { userId: 'bob' })])
    await server.settle()
    expect(shown(client)).toEqual({})
    expect((await server.rows('bob')).map(({ id }) => id)).toEqual(['1', '2'])
    expect(await server.rows('ada')).toEqual([])
    await server.write([update('1', { title: 'still Bob’s' })], 'ada')
    expect(await server.rows('ada')).toEqual([])
  })

  test('rejects if it is refused', async () => {
    await expect(scene().server.write([update('1', { title: 'one' })])).rejects.toMatchObject({
      reason: 'not_found',
    })
  })
})

describe('push', () => {
  const frame = (sid: number, p: object) => ({ sid, t: 'Issue', id: '1', op: 'u', p })

  test('without since is shown at once, in whatever order, and a delta confirms it', async () => {
    const { server, live, asked } = scene()
    await server.write([issue('1', { n: 0 })], 'ada')
    const client = await live()
    server.hold()
    await server.write([update('1', { m: 2 }), update('1', { n: 3 })])
    server.drop()
    server.push(frame(3, { n: 3 }))
    server.push(frame(2, { m: 'not for Ada' }), 'bob')
    await server.clock.advance(100)
    expect(shown(client)).toEqual({ 1: { n: 3 } })
    server.push(frame(2, { m: 2 }), 'ada')
    await server.clock.advance(100)
    expect(shown(client)).toEqual({ 1: { n: 3, m: 2 } })
    await server.settle()
    expect(asked().slice(3)).toEqual(['delta 1'])
  })

  test('with a since ahead causes a delta', async () => {
    const { server, live, asked } = scene()
    await server.write([issue('1', { n: 0 })], 'ada')
    await live()
    server.push({ since: 5, sid: 6, frames: [] })
    await server.settle()
    expect(asked()).toContain('delta 1')
    expect(asked().length).toBeGreaterThan(3)
  })
})

describe('a held push', () => {
  test('is not the hello of a socket that opens', async () => {
    const { server, live } = scene()
    server.hold()
    expect((await live()).status.connection.state).toBe('socket')
    expect(server.held).toEqual([])
  })

  test('waits, and comes when it is released', async () => {
    const { server, live } = scene()
    const client = await live()
    server.hold()
    await server.write([issue('1')], 'ada')
    await server.write([issue('2')], 'ada')
    await server.settle()
    expect(shown(client)).toEqual({})
    expect(server.held).toMatchObject([
      { identity: 'ada', message: { since: 0, sid: 1 } },
      { identity: 'ada', message: { since: 1, sid: 2 } },
    ])
    server.release()
    await server.clock.advance(100)
    expect(shown(client)).toEqual({ 1: {}, 2: {} })
    expect(server.held).toEqual([])
  })

  test('can be sent in another order, and more than once', async () => {
    const { server, live, asked } = scene()
    await server.write([issue('0')], 'ada')
    const client = await live()
    server.hold()
    await server.write([issue('1')], 'ada')
    await server.write([issue('2')], 'ada')
    expect(server.held).toHaveLength(2)
    const [first, second] = server.held
    second?.send()
    first?.send()
    first?.send()
    await server.settle()
    expect(shown(client)).toEqual({ 0: {}, 1: {}, 2: {} })
    expect(asked().filter((path) => path === 'bootstrap')).toHaveLength(1)
  })

  test('can be lost, and the next heartbeat shows it', async () => {
    const { server, live } = scene()
    const client = await live()
    server.hold()
    await server.write([issue('1')], 'ada')
    server.drop()
    await server.settle()
    expect(shown(client)).toEqual({})
    await server.clock.advance(15_000)
    await server.settle()
    expect(shown(client)).toEqual({ 1: {} })
  })
})
