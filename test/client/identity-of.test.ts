import { beforeEach, describe, expect, test } from 'vitest'
import type { SyncClientOptions } from '../../src/index.ts'
import { SyncClient } from '../../src/index.ts'
import { type Desk, notes, Office } from '../support/office.ts'

/** A service without the extension `caller`. Its tokens are the names of its users. */
let office: Office
let desk: Desk
/** Whose token came with each request. */
let asked: string[]

beforeEach(async () => {
  office = await Office.open()
  desk = office.desk()
  asked = []
  office.intercept = async (request, pass) => {
    asked.push(
      `${request.headers.get('authorization')?.replace('Bearer ', '')} ${request.url.split('/').at(-1)}`,
    )
    const response = await pass()
    if (!response.ok) return response
    const { caller: _, ...rest } = await response.json()
    return Response.json(rest)
  }
  office.push = (message, send) => send(JSON.parse(JSON.stringify(message).replace(/"caller":"[^"]*",/, '')))
  await office.insert('of ada')
  await office.insert('of bob', {}, 'bob')
})

const identityOf = (token: string) => token
const otherUser = { state: 'unauthenticated', error: { name: 'UnauthenticatedError', code: 'other_user' } }
const ofBob = () => asked.filter((one) => one.startsWith('bob'))

const ways: [string, Partial<SyncClientOptions>][] = [
  ['over a socket', {}],
  ['by polling', { pollInterval: 5_000 }],
  ['with an asynchronous function', { identityOf: async (token) => token }],
]

describe.each(ways)('a token of another identity, %s,', (way, given) => {
  const options = (): Partial<SyncClientOptions> => ({
    identityOf,
    ...given,
    ...(way === 'by polling' && { environment: { ...desk.environment, WebSocket: undefined } }),
  })

  test('invariant 44: is never sent: nothing of its user is shown, and nothing is written in their name', async () => {
    const told: string[] = []
    const client = await desk.live({ ...options(), onUnauthenticated: ({ code }) => void told.push(code) })
    desk.token = 'bob'
    await office.insert('also of bob', {}, 'bob')
    client.mutate((m) => m.insert('Note', { id: 'typed by ada' }))
    await office.clock.advance(120_000)
    expect(ofBob()).toEqual([])
    expect(client.status.connection).toMatchObject(otherUser)
    expect(told).toEqual(['other_user'])
    expect(Object.keys(notes(client))).toEqual(['of ada', 'typed by ada'])
    expect(Object.keys(await office.rows('bob')).sort()).toEqual(['also of bob', 'of bob'])
    desk.token = 'ada'
    client.resume()
    await office.clock.advance(10_000)
    expect(client.status.connection.state).toBe(way === 'by polling' ? 'polling' : 'socket')
    expect(Object.keys(await office.rows()).sort()).toEqual(['of ada', 'typed by ada'])
    expect(office.received).toHaveLength(1)
  })

  test('is not sent after a restart either, nor on a socket', async () => {
    await desk.live(options())
    await desk.kill()
    desk.token = 'bob'
    asked = []
    const client = await desk.live(options())
    await office.clock.advance(60_000)
    expect(asked).toEqual([])
    expect(client.status.connection).toMatchObject(otherUser)
    expect(Object.keys(notes(client))).toEqual(['of ada'])
    await office.insert('also of bob', {}, 'bob')
    await office.clock.advance(1_000)
    expect(Object.keys(notes(client))).toEqual(['of ada'])
  })

  test('that the handler or `resume` gives is not sent, and asks for no other one without end', async () => {
    let calls = 0
    const client = await desk.live({
      ...options(),
      onUnauthenticated: () => {
        calls += 1
        return 'bob'
      },
    })
    desk.token = 'bob'
    await office.clock.until(client.sync().catch(() => {}))
    await office.clock.advance(600_000)
    expect(calls).toBe(1)
    client.resume('bob')
    await office.clock.advance(600_000)
    expect(calls).toBe(2)
    expect(ofBob()).toEqual([])
    expect(client.status.connection).toMatchObject(otherUser)
  })
})

describe('identityOf', () => {
  test('that throws sends nothing, is a typed error, and is called again', async () => {
    let throws = true
    const client = await desk.live({
      identityOf: (token) => {
        if (throws) throw new Error(`cannot read ${token}`)
        return token
      },
    })
    await office.clock.advance(5_000)
    expect(asked).toEqual([])
    const error = await office.clock.until(client.sync().catch((thrown) => thrown))
    expect(error).toMatchObject({ name: 'NetworkError', code: 'unreachable' })
    expect(error.message).toBe('The function `identityOf` failed; it is called again later.')
    expect(String(error.cause)).not.toContain('ada')
    throws = false
    await office.clock.advance(60_000)
    expect(client.status.connection.state).toBe('socket')
  })

  test('is given an API key, too', async () => {
    const given: string[] = []
    const client = await desk.live({
      token: undefined,
      apiKey: 'key-of-ada',
      identityOf: (key) => {
        given.push(key)
        return 'somebody else'
      },
    })
    expect(given).toEqual(['key-of-ada'])
    expect(client.status.connection).toMatchObject(otherUser)
  })

  test.each([undefined, null])('needs an identity to compare with, not %s', (identity) => {
    const options = { baseUrl: 'https://office.test', token: 'x', identityOf, identity } as SyncClientOptions
    expect(() => new SyncClient(options)).toThrow(
      expect.objectContaining({ name: 'ConfigurationError', option: 'identity' }),
    )
  })
})
