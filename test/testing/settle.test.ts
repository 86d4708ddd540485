import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { mockSyncServer } from '../../src/testing/index.ts'
import { ownServer } from '../support/own-server.ts'
import { issue, setScene, update } from './scene.ts'

const scene = setScene()

test('settle waits for connecting clients, for retries, and for what follows', async () => {
  const { server } = scene()
  server.wrong(500, { times: 4 })
  const client = server.client({ identity: 'ada' })
  await client.start()
  await server.settle()
  expect(client.status).toMatchObject({ data: { state: 'current' }, lifecycle: 'running' })
})

test.each(['get lost', 'fail'])('settle waits for writes whose requests %s several times', async (how) => {
  const { server, live } = scene()
  const client = await live()
  if (how === 'fail') server.wrong(500, { endpoint: 'tx', times: 5 })
  else server.never({ endpoint: 'tx', times: 5 })
  client.mutate((m) => m.insert('Note', { id: 'n2', text: 'b' }))
  await server.settle()
  expect(client.status.writes).toEqual({ pending: 0, rejected: 0 })
})

test('settle does not wait for writes that the server cannot accept now', async () => {
  const { server, live } = scene()
  const client = await live()
  server.wrong(404, { endpoint: 'tx', times: 1_000 })
  client.mutate((m) => m.insert('Note', { id: 'n3', text: 'c' }))
  await server.settle()
  expect(client.status.writes).toMatchObject({ pending: 1, paused: expect.anything() })
})

test.each(['its network is cut', 'its surroundings say so'])(
  'settle accepts a client that is offline because %s',
  async (how) => {
    const { server } = scene()
    const phone = server.device()
    const client = phone.client({ identity: 'ada' })
    await client.start()
    await server.settle()
    if (how === 'its network is cut') phone.network.cut()
    else phone.environment.lifecycle.set({ online: false })
    await server.settle()
    expect(client.status.connection.state).toBe('offline')
  },
)

test('settle rejects if an activity does not end, and names it', async () => {
  const { server } = scene()
  server.late(20_000, { endpoint: 'bootstrap' })
  await server.client({ identity: 'ada' }).start()
  await expect(server.settle({ limitMs: 10_000 })).rejects.toThrow(
    'Not settled after 10000 ms: requests without a response: 1.',
  )
})

test('a message takes 20 ms or the given time, and none in real time', async () => {
  const { server } = scene()
  const others = [mockSyncServer({ latencyMs: 500 }), mockSyncServer({ clock: 'real' })]
  expect([server, ...others].map((each) => each.device().network.latencyMs)).toEqual([20, 500, 0])
  for (const other of others) await other.close()
})

test.each([undefined, 'bootstrap', 'ws'] as const)(
  'settle does not wait for a server that never answers: %s',
  async (endpoint) => {
    const { server } = scene()
    server.never({ ...(endpoint && { endpoint }), times: Number.POSITIVE_INFINITY })
    const client = server.client({ identity: 'ada' })
    await client.start()
    await server.settle()
    expect(client.status.connection.state).toBe('connecting')
    server.heal()
    await server.settle()
    expect(client.status.connection.state).toBe('socket')
  },
)

test('settle says why a client is not in step', async () => {
  const { server } = scene()
  const client = server.client({ identity: 'ada' })
  await client.start()
  server.wrong('html', { times: 1_000 })
  await expect(server.settle({ limitMs: 5_000 })).rejects.toThrow(
    'a client is `failed`: The snapshot is not JSON',
  )
  server.heal()
  server.loseResponse({ times: 1_000 })
  await expect(server.settle({ limitMs: 60_000 })).rejects.toThrow(
    'a client is `offline`: The connection broke. `clock.advance(ms)`',
  )
})

test('settle refuses a limit that leaves no time to be quiet', async () => {
  const { server } = scene()
  await expect(server.settle({ limitMs: 500 })).rejects.toMatchObject({
    name: 'ConfigurationError',
    message: '`limitMs` must be at least `quietMs`, which is 1100.',
  })
  await server.settle({ limitMs: 500, quietMs: 400 })
  await server.settle({ limitMs: undefined, quietMs: undefined } as object)
})

test('settle rejects if requests keep coming', async () => {
  const { server } = scene()
  await server.client({ identity: 'ada', pollInterval: 500, environment: { WebSocket: undefined } }).start()
  await expect(server.settle({ limitMs: 10_000 })).rejects.toThrow('requests keep coming')
  await server.settle({ quietMs: 300 })
})

test('settle waits for the effects of a slow message', async () => {
  const server = ownServer({ latencyMs: 3_000 })
  await server.write([issue('1')], 'ada')
  const client = server.client({ identity: 'ada' })
  await client.start()
  await server.settle()
  const before = server.requests.length
  server.hold()
  await server.write([update('1', { n: 2 })])
  server.drop()
  server.push({ sid: 2, t: 'Issue', id: '1', op: 'u', p: { n: 2 } })
  await server.settle()
  expect(client.get('Issue', '1')?.n).toBe(2)
  expect(server.requests.slice(before).map(({ endpoint }) => endpoint)).toEqual(['delta'])
})

test('two simultaneous advances never turn time back', async () => {
  const { server } = scene()
  const before = server.clock.now()
  await Promise.all([server.clock.advance(1_000), server.clock.advance(10), server.settle()])
  await server.clock.advance(-500)
  expect(server.clock.now() - before).toBeGreaterThanOrEqual(1_000)
})

test('an invalid or infinite number of ms does not advance time', async () => {
  const { server } = scene()
  for (const ms of [undefined, '50', Number.NaN, Number.POSITIVE_INFINITY]) {
    await expect(server.clock.advance(ms as number)).rejects.toMatchObject({
      name: 'ConfigurationError',
      option: 'ms',
    })
  }
})

test('time stops while the service does real work', async () => {
  const take = async () => {
    await readFile(new URL(import.meta.url))
    return undefined
  }
  const server = ownServer({ rateLimit: { take } })
  const headers = { Authorization: `Bearer ${server.token('ada')}` }
  const begun = server.clock.now()
  const { status } = await server.clock.until(
    server.environment.fetch(`${server.baseUrl}/bootstrap`, { headers }),
  )
  expect([status, server.clock.now() - begun]).toEqual([200, 40])
})

test('settle reports why the service does not answer, such as a missing package', async () => {
  const ready = () => Promise.reject(new Error('A package is missing.'))
  const server = ownServer({ rateLimit: { take: async () => undefined, ready } })
  await server.client({ identity: 'ada' }).start()
  await expect(server.settle()).rejects.toThrow('A package is missing.')
})
