import { describe, expect, test } from 'vitest'
import type { SyncClient } from '../../src/index.ts'
import { memoryStore } from '../../src/index.ts'
import { shown } from '../support/device.ts'
import { issue, setScene } from './scene.ts'

const scene = setScene()

function resetsOf(client: SyncClient): readonly string[] {
  const reasons: string[] = []
  client.on('reset', ({ reason }) => reasons.push(reason))
  return reasons
}

describe('another history:', () => {
  test('trim makes a client that was away bootstrap', async () => {
    const { server, live } = scene()
    await server.write([issue('1')], 'ada')
    const client = await live()
    const resets = resetsOf(client)
    await server.clock.until(client.stop())
    await server.write([issue('2')], 'ada')
    await server.trim()
    await client.start()
    await server.settle()
    expect(resets).toEqual(['gone'])
    expect(shown(client)).toEqual({ 1: {}, 2: {} })
  })

  test('trim up to a sid lets a client at that sid continue', async () => {
    const { server, live } = scene()
    await server.write([issue('1')], 'ada')
    const client = await live()
    const resets = resetsOf(client)
    await server.clock.until(client.stop())
    await server.write([issue('2')], 'ada')
    await server.trim(1)
    await client.start()
    await server.settle()
    expect(resets).toEqual([])
    expect(shown(client)).toEqual({ 1: {}, 2: {} })
  })

  test('changeEpoch makes every client bootstrap, and keeps the records', async () => {
    const { server, live } = scene()
    await server.write([issue('1')], 'ada')
    const client = await live()
    const resets = resetsOf(client)
    server.changeEpoch()
    await server.settle()
    expect(resets).toEqual(['epoch'])
    server.changeEpoch()
    await server.settle()
    expect(resets).toEqual(['epoch', 'epoch'])
    expect(shown(client)).toEqual({ 1: {} })
  })

  test('restore gives every client the restored data only', async () => {
    const { server, live } = scene()
    await server.write([issue('1'), issue('2')], 'ada')
    const client = await live()
    const resets = resetsOf(client)
    await server.restore([issue('1', { title: 'from the backup' })], 'ada')
    await server.settle()
    expect(resets).toEqual(['restored'])
    expect(shown(client)).toEqual({ 1: { title: 'from the backup' } })
    await server.write([issue('3')], 'ada')
    await server.settle()
    expect(Object.keys(shown(client))).toEqual(['1', '3'])
  })

  test('restore of nothing leaves nothing', async () => {
    const { server, live } = scene()
    await server.write([issue('1')], 'ada')
    const client = await live()
    await server.restore()
    await server.settle()
    expect([shown(client), await server.rows('ada')]).toEqual([{}, []])
  })

  test('a refused restore changes nothing', async () => {
    const { server, live } = scene()
    await server.write([issue('1')], 'ada')
    const client = await live()
    const resets = resetsOf(client)
    await expect(server.restore([issue('2'), issue('2')], 'ada')).rejects.toMatchObject({ reason: 'exists' })
    await server.write([issue('3')], 'ada')
    await server.settle()
    expect(resets).toEqual([])
    expect(shown(client)).toEqual({ 1: {}, 3: {} })
  })
})

test('a client with the store of an earlier one shows its data offline, as after a restart', async () => {
  const { server } = scene()
  await server.write([issue('1')], 'ada')
  const store = memoryStore()
  const before = server.client({ identity: 'ada', store })
  await before.start()
  await server.settle()
  await server.clock.until(before.close())
  server.down()
  const after = server.client({ identity: 'ada', store })
  await after.start()
  expect(shown(after)).toEqual({ 1: {} })
  await server.settle()
  expect(after.status).toMatchObject({ data: { state: 'stale' }, connection: { state: 'offline' } })
})

test('each device has a network of its own', async () => {
  const { server } = scene()
  const phone = server.device()
  const [laptop, pocket] = [server.client({ identity: 'ada' }), phone.client({ identity: 'ada' })]
  await Promise.all([laptop.start(), pocket.start()])
  await server.settle()
  phone.disconnect()
  expect([phone, server].map(({ environment }) => environment.lifecycle.online())).toEqual([false, true])
  await server.write([issue('1')], 'ada')
  await server.settle()
  expect([laptop.count('Issue'), pocket.count('Issue')]).toEqual([1, 0])
  expect(pocket.status.connection.state).toBe('offline')
  phone.reconnect()
  await server.settle()
  expect(pocket.count('Issue')).toBe(1)
})
