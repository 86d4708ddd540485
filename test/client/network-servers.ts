import { createSyncService, jwtAuthentication, serve, signToken } from '../../src/server/index.ts'
import { BareServer } from '../support/bare-server.ts'
import { listen } from '../support/bare-server-listen.ts'

/** A server on a real network, at one address as long as it lives. */
export interface NetworkServer {
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

export async function bareOnNetwork(): Promise<NetworkServer> {
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

export async function serviceOnNetwork(): Promise<NetworkServer> {
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
