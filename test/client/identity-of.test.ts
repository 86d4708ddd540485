import { beforeEach, describe, expect, test } from 'vitest'
import type { SyncClientOptions } from '../../src/index.ts'
import { SyncClient } from '../../src/index.ts'
import { notes, TestBackend, type TestDevice } from '../support/test-backend.ts'

/** A service without the extension `caller`. */
let backend: TestBackend
let device: TestDevice
/** Whose token came with each request. */
let asked: string[]

beforeEach(async () => {
  backend = new TestBackend()
  device = backend.device()
  asked = []
  backend.intercept = async (request, pass) => {
    const token = request.headers.get('authorization')?.replace('Bearer ', '')
    asked.push(`${identityOf(token ?? '')} ${request.url.split('/').at(-1)}`)
    const response = await pass()
    if (!response.ok) return response
    const { caller: _, ...rest } = await response.json()
    return Response.json(rest)
  }
  backend.push = (message, send) => send(JSON.parse(JSON.stringify(message).replace(/"caller":"[^"]*",/, '')))
  await backend.insert('of ada')
  await backend.insert('of bob', {}, 'bob')
})

const identityOf = (token: string) => (token === backend.tokens.bob ? 'bob' : 'ada')
const otherUser = { state: 'unauthenticated', error: { name: 'UnauthenticatedError', code: 'other_user' } }
const ofBob = () => asked.filter((one) => one.startsWith('bob'))

const ways: [string, Partial<SyncClientOptions>][] = [
  ['over a socket', {}],
  ['by polling', { pollInterval: 5_000 }],
  ['with an asynchronous function', { identityOf: async (token) => identityOf(token) }],
]

describe.each(ways)('a token of another identity, %s,', (way, given) => {
  const options = (): Partial<SyncClientOptions> => ({
    identityOf,
    ...given,
    ...(way === 'by polling' && { environment: { ...device.environment, WebSocket: undefined } }),
  })

  test('invariant 44: is never sent: nothing of its user is shown, and nothing is written in their name', async () => {
    const told: string[] = []
    const client = await device.live({ ...options(), onUnauthenticated: ({ code }) => void told.push(code) })
    device.token = backend.tokens.bob
    await backend.insert('also of bob', {}, 'bob')
    client.mutate((m) => m.insert('Note', { id: 'typed by ada' }))
    await backend.clock.advance(120_000)
    expect(ofBob()).toEqual([])
    expect(client.status.connection).toMatchObject(otherUser)
    expect(told).toEqual(['other_user'])
    expect(Object.keys(notes(client))).toEqual(['of ada', 'typed by ada'])
    expect(Object.keys(await backend.rows('bob')).sort()).toEqual(['also of bob', 'of bob'])
    device.token = backend.tokens.ada
    client.resume()
    await backend.clock.advance(10_000)
    expect(client.status.connection.state).toBe(way === 'by polling' ? 'polling' : 'socket')
    expect(Object.keys(await backend.rows()).sort()).toEqual(['of ada', 'typed by ada'])
    expect(backend.received).toHaveLength(1)
  })

  test('is not sent after a restart either, nor on a socket', async () => {
    await device.live(options())
    await device.kill()
    device.token = backend.tokens.bob
    asked = []
    const client = await device.live(options())
    await backend.clock.advance(60_000)
    expect(asked).toEqual([])
    expect(client.status.connection).toMatchObject(otherUser)
    expect(Object.keys(notes(client))).toEqual(['of ada'])
    await backend.insert('also of bob', {}, 'bob')
    await backend.clock.advance(1_000)
    expect(Object.keys(notes(client))).toEqual(['of ada'])
  })

  test('from the handler or `resume` is not sent, and causes no endless requests for another', async () => {
    let calls = 0
    const client = await device.live({
      ...options(),
      onUnauthenticated: () => {
        calls += 1
        return backend.tokens.bob
      },
    })
    device.token = backend.tokens.bob
    await backend.clock.until(client.sync().catch(() => {}))
    await backend.clock.advance(600_000)
    expect(calls).toBe(1)
    client.resume(backend.tokens.bob)
    await backend.clock.advance(600_000)
    expect(calls).toBe(2)
    expect(ofBob()).toEqual([])
    expect(client.status.connection).toMatchObject(otherUser)
  })
})

describe('identityOf', () => {
  test('that throws sends nothing, causes a typed error, and is called again', async () => {
    let throws = true
    const client = await device.live({
      identityOf: (token) => {
        if (throws) throw new Error(`cannot read ${token}`)
        return identityOf(token)
      },
    })
    await backend.clock.advance(5_000)
    expect(asked).toEqual([])
    const error = await backend.clock.until(client.sync().catch((thrown) => thrown))
    expect(error).toMatchObject({ name: 'NetworkError', code: 'unreachable' })
    expect(error.message).toBe('The function `identityOf` failed; the client calls it again.')
    expect(String(error.cause)).not.toContain(device.token)
    throws = false
    await backend.clock.advance(60_000)
    expect(client.status.connection.state).toBe('socket')
  })

  test('gets an API key, too', async () => {
    const given: string[] = []
    const client = await device.live({
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
