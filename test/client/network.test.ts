import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import type { WebSocketConstructor } from '../../src/base/environment.ts'
import { fallbackWebSocket } from '../../src/base/websocket.node.ts'
import { indexedDbStore, SyncClient, silentLogger } from '../../src/index.ts'
import { createSyncService, jwtAuthentication, serve, signToken } from '../../src/server/index.ts'
import { BareServer } from '../support/bare-server.ts'
import { listen } from '../support/bare-server-listen.ts'
import { shown } from '../support/device.ts'
import { fakeIndexedDb } from '../support/store-fake-indexeddb.ts'

/** A server on a real network, at one address as long as it lives. */
interface NetworkServer {
  readonly baseUrl: string
  /** How the token of each socket came. */
  readonly carriers: string[]
  token(): string | Promise<string>
  /** Writes an empty record of Ada's, whether it listens or not. */
  insert(id: string): Promise<void>
  down(): Promise<void>
  up(): Promise<void>
  close(): Promise<void>
}

async function bareOnNetwork(): Promise<NetworkServer> {
  const server = new BareServer()
  const token = server.tokens.issue('ada')
  return {
    ...(await listen(server)),
    get carriers() {
      const sockets = server.requests.filter(({ path }) => path.endsWith('/ws'))
      return sockets.map(({ query }) => (query.has('token') ? 'query' : 'header'))
    },
    token: () => token,
    insert: async (id) => void server.write('ada', [{ op: 'i', t: 'Issue', id, p: {} }]),
  }
}

async function serviceOnNetwork(): Promise<NetworkServer> {
  const secret = 'a secret that is long enough to sign with'
  const authenticate = jwtAuthentication({ secret })
  const service = createSyncService({ database: 'memory:', authenticate, ownerField: 'userId' })
  const carriers: string[] = []
  const observed: typeof service = {
    ...service,
    upgrade(request) {
      carriers.push(new URL(request.url).searchParams.has('token') ? 'query' : 'header')
      return service.upgrade(request)
    },
  }
  let served = await serve(observed, { port: 0, graceMs: 50 })
  const baseUrl = served.url
  return {
    baseUrl,
    carriers,
    token: () => signToken({ secret, userId: 'ada' }),
    insert: async (id) => void (await service.write([{ op: 'i', t: 'Issue', id, p: { userId: 'ada' } }])),
    down: () => served.close(),
    async up() {
      served = await serve(observed, { port: Number(new URL(baseUrl).port), graceMs: 50 })
    },
    async close() {
      await served.close()
      await service.close()
    },
  }
}

/** What Node before 22 brings: it sends headers. */
const withHeaders = fallbackWebSocket
/** What a browser brings: its token can only go into the query. */
const withoutHeaders = class extends WebSocket {
  constructor(url: string) {
    super(url)
  }
} as unknown as WebSocketConstructor

/** Over the network, nothing comes at once. */
describe.each([
  ['a bare server', bareOnNetwork],
  ['the service', serviceOnNetwork],
])('over a real network, before %s', (_, startServer) => {
  describe.each([
    ['in a header', withHeaders, 'header'],
    ['in the query', withoutHeaders, 'query'],
  ])('with the socket’s token %s', (_, WebSocket, carrier) => {
    const store = indexedDbStore({ indexedDB: fakeIndexedDb() })
    let server: NetworkServer
    let client: SyncClient

    const open = async () => {
      client = new SyncClient({
        baseUrl: server.baseUrl,
        token: () => server.token(),
        identity: 'ada',
        store,
        environment: { WebSocket },
        logger: silentLogger,
      })
      await client.start()
    }

    beforeEach(async () => {
      server = await startServer()
      await open()
    })
    afterEach(async () => {
      await client.close()
      await server.close()
    })

    test('a client bootstraps, receives pushes, restores offline, and catches up', async () => {
      await client.ready()
      await server.insert('1')
      await expect.poll(() => shown(client)).toEqual({ 1: {} })
      await expect.poll(() => client.status.connection.state).toBe('socket')
      expect(new Set(server.carriers)).toEqual(new Set([carrier]))
      await server.insert('2')
      await expect.poll(() => shown(client)).toEqual({ 1: {}, 2: {} })
      expect((await client.sync()).sid).toBe(2)

      await client.close()
      await server.down()
      await open()
      expect(shown(client)).toEqual({ 1: {}, 2: {} })
      expect(client.status).toMatchObject({
        data: { state: 'stale' },
        storage: { kind: 'durable' },
        lastSyncId: 2,
      })
      await expect.poll(() => client.status.connection.state).toBe('offline')

      await server.insert('3')
      await server.up()
      await expect.poll(() => shown(client)).toEqual({ 1: {}, 2: {}, 3: {} })
      await expect.poll(() => client.status.connection.state).toBe('socket')
      expect(client.status.data.state).toBe('current')
    })
  })
})
