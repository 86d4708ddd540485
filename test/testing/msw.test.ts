import { setupServer } from 'msw/node'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { SyncClient, silentLogger } from '../../src/index.ts'
import { type MockSyncServer, mockSyncServer } from '../../src/testing/index.ts'
import { mswHandlers } from '../../src/testing/msw/index.ts'
import { issue } from './scene.ts'

let server: MockSyncServer
let network: ReturnType<typeof setupServer>
let client: SyncClient

beforeEach(() => {
  // Node 20 has none for msw to take over.
  vi.stubGlobal('WebSocket', globalThis.WebSocket ?? WebSocket)
  server = mockSyncServer({ clock: 'real', baseUrl: 'https://msw.example.com/sync/v1' })
  network = setupServer(...mswHandlers(server))
  network.listen({ onUnhandledRequest: 'error' })
  client = new SyncClient({
    baseUrl: 'https://msw.example.com/sync/v1',
    token: server.token('ada'),
    logger: silentLogger,
  })
})

afterEach(async () => {
  await client.close()
  await server.close()
  network.close()
  vi.unstubAllGlobals()
})

const connection = () => client.status.connection.state

test('the global fetch and WebSocket lead to it', async () => {
  await server.write([issue('1')], 'ada')
  await client.start()
  await client.ready()
  expect(client.count('Issue')).toBe(1)
  await expect.poll(connection).toBe('socket')
  await server.write([issue('2')], 'ada')
  await expect.poll(() => client.count('Issue')).toBe(2)
  expect(new Set(server.requests.map(({ endpoint }) => endpoint))).toEqual(
    new Set(['bootstrap', 'delta', 'ws']),
  )
})

test('an address may end in a slash', async () => {
  const other = mockSyncServer({ clock: 'real', baseUrl: 'https://other.example.com/sync/v1/' })
  network.use(...mswHandlers(other))
  await other.write([issue('1')], 'ada')
  const { baseUrl } = other
  const guest = new SyncClient({ baseUrl, token: other.token('ada'), logger: silentLogger })
  await guest.sync()
  expect(guest.count('Issue')).toBe(1)
  await guest.close()
  await other.close()
})

test('commands of the server work there, too', async () => {
  await client.start()
  await expect.poll(connection).toBe('socket')
  server.expire('ada')
  await expect.poll(connection).toBe('unauthenticated')
  server.wrong(500)
  server.down()
  await expect(client.sync()).rejects.toMatchObject({ name: 'NetworkError' })
  server.up()
  await expect(client.sync()).rejects.toMatchObject({ name: 'HttpError', status: 500 })
  client.resume(server.token('ada'))
  await expect(client.sync()).resolves.toMatchObject({ sid: 0 })
})

test('a refused socket is closed at once, and an open one breaks with the server', async () => {
  server.wrong(403, { endpoint: 'ws', times: Number.POSITIVE_INFINITY })
  await client.start()
  await expect.poll(connection).toBe('polling')
  server.heal()
  await client.stop()
  await client.start()
  await expect.poll(connection).toBe('socket')
  server.down()
  await expect.poll(connection).not.toBe('socket')
})
