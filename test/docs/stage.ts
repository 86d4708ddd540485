import * as nodeEvents from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import * as nodeHttp from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as tanstackDb from '@tanstack/db'
import * as instep from 'instep'
import * as instepReact from 'instep/react'
import * as server from 'instep/server'
import * as instepSqlite from 'instep/sqlite'
import * as instepTanstackDb from 'instep/tanstack-db'
import * as testing from 'instep/testing'
import * as testingMsw from 'instep/testing/msw'
import * as jose from 'jose'
import DatabaseSync from 'libsql'
import * as mswNode from 'msw/node'
import { pino } from 'pino'
import * as react from 'react'
import * as jsxRuntime from 'react/jsx-runtime'
import * as reactServer from 'react-dom/server'
import * as zod from 'zod'
import { resolveEnvironment } from '../../src/base/environment.default.ts'
import { fakeIndexedDb } from '../support/store-fake-indexeddb.ts'

/** What an example may use without an import: the parts of an application that are not Instep's. */
export interface Globals {
  /** Who is signed in. */
  readonly session: { readonly userId: string; accessToken: string; refresh(): Promise<string> }
  /** Shows something. */
  readonly render: (shown: unknown) => void
  /** Asks the user for a name and a password. */
  readonly signIn: () => void
}

/** Where the programs of one document run: real modules on real sockets, whatever addresses the document names. */
export interface Stage {
  /** What an `import` of a program gives. */
  readonly modules: Readonly<Record<string, unknown>>
  readonly globals: Readonly<Record<string, unknown>>
  /** What the page shows. */
  shown(): string
  /** Sends the programs the signal to end, and ends what they left. */
  close(): Promise<void>
}

const token = 'the-token-of-ada'
const secret = 'a secret that is long enough to sign with'

/** Who calls without having served anything finds Ada's issues. */
async function serveIssues(): Promise<server.RunningServer & { service: server.SyncService }> {
  const service = server.createSyncService({
    database: 'memory:',
    ownerField: 'userId',
    authenticate: async (request) => (server.bearerToken(request) === token ? { userId: 'ada' } : null),
  })
  const issue = (id: string, p: object) => ({ op: 'i' as const, t: 'Issue', id, p: { userId: 'ada', ...p } })
  await service.write([
    issue('i1', { title: 'Cable cut', status: 'open', projectId: 'p1', createdAt: 1_764_547_200_000 }),
    issue('i2', { title: 'Door stuck', status: 'open', projectId: 'p1', createdAt: 1_764_547_260_000 }),
    issue('i3', { title: 'Lamp out', status: 'closed', projectId: 'p2', createdAt: 1_764_547_320_000 }),
  ])
  return { service, ...(await server.serve(service, { port: 0 })) }
}

export async function setStage(): Promise<Stage> {
  const issues = await serveIssues()
  const clients: instep.SyncClient[] = []
  const services: { close(): Promise<void> }[] = [issues, issues.service]
  const servers: nodeHttp.Server[] = []
  const signals: (() => unknown)[] = []
  const page = { text: '' }

  /** The service that was put on the network last, at whatever address it is looked for. */
  let address = issues.url
  let mocked = false
  const route = (url: string) => {
    if (mocked) return url
    const { protocol, pathname, search } = new URL(url)
    const { host } = new URL(address)
    return `${protocol.replace('s:', ':')}//${host}${pathname}${search}`
  }
  const fetch: instep.Fetch = (url, init) => globalThis.fetch(route(url), init)
  const environment = resolveEnvironment({ fetch })
  const WebSocket = environment.WebSocket && routed(environment.WebSocket, route)
  const indexedDB = fakeIndexedDb()
  const folder = await mkdtemp(join(tmpdir(), 'instep-'))

  class SyncClient extends instep.SyncClient {
    constructor(options: instep.SyncClientOptions) {
      super({
        logger: instep.silentLogger,
        ...options,
        environment: { fetch, WebSocket, ...options.environment },
      })
      clients.push(this)
    }
  }

  return {
    shown: () => page.text,
    modules: {
      instep: {
        ...instep,
        SyncClient,
        indexedDbStore: (options?: object) => instep.indexedDbStore({ indexedDB, ...options }),
        listDatabases: (options?: object) => instep.listDatabases({ indexedDB, ...options }),
        deleteDatabase: (name: string, options?: object) =>
          instep.deleteDatabase(name, { indexedDB, ...options }),
      },
      'instep/server': {
        ...server,
        createSyncService(options: server.SyncServiceOptions) {
          const service = server.createSyncService(options)
          services.push(service)
          return service
        },
        async serve(service: server.SyncService, options: server.ServeOptions) {
          const served = await server.serve(service, { ...options, port: 0 })
          services.unshift(served)
          address = served.url
          return served
        },
      },
      'node:events': nodeEvents,
      'node:http': {
        createServer(handler: nodeHttp.RequestListener) {
          const made = nodeHttp.createServer(handler)
          servers.push(made)
          return Object.assign(made, { listen: () => nodeHttp.Server.prototype.listen.call(made, 0) })
        },
      },
      'instep/react': instepReact,
      'instep/tanstack-db': instepTanstackDb,
      '@tanstack/db': tanstackDb,
      react,
      'react/jsx-runtime': jsxRuntime,
      'react-dom/server': reactServer,
      'react-dom/client': {
        // There is no page: what React would put into one at first.
        createRoot: () => ({
          render(element: react.ReactNode) {
            page.text = reactServer.renderToString(element)
          },
        }),
      },
      'instep/sqlite': {
        ...instepSqlite,
        sqliteStore: (options: instepSqlite.SqliteStoreOptions) =>
          instepSqlite.sqliteStore({ ...options, folder }),
      },
      'node:sqlite': { DatabaseSync },
      'instep/testing': testing,
      'instep/testing/msw': testingMsw,
      'msw/node': {
        setupServer(...handlers: Parameters<typeof mswNode.setupServer>) {
          const network = mswNode.setupServer(...handlers)
          const { listen } = network
          return Object.assign(network, {
            listen() {
              mocked = true
              listen.call(network)
            },
          })
        },
      },
      jose,
      // Nobody reads what it would write.
      pino: { pino: () => pino({ level: 'silent' }) },
      zod,
    },
    globals: {
      ...globalsOf((shown) => {
        page.text = JSON.stringify(shown)
      }),
      fetch,
      // Of a service worker, which is never told of an event here.
      self: { addEventListener() {} },
      console: { log() {}, warn() {}, error() {} },
      process: {
        env: { JWT_SECRET: secret, INSTEP_JWT_SECRET: secret },
        once: (_: string, listener: () => unknown) => signals.push(listener),
      },
      document: { body: {} },
    },
    async close() {
      for (const listener of signals) await listener()
      for (const each of [...clients, ...services]) await each.close()
      for (const each of servers) each.close()
      await rm(folder, { recursive: true })
    },
  }
}

function globalsOf(render: Globals['render']): Globals {
  return {
    session: { userId: 'ada', accessToken: token, refresh: async () => token },
    signIn: () => {},
    render,
  }
}

function routed(
  WebSocket: instep.WebSocketConstructor,
  route: (url: string) => string,
): instep.WebSocketConstructor {
  return class extends WebSocket {
    constructor(url: string, ...rest: [string[]?, { headers: Readonly<Record<string, string>> }?]) {
      super(route(url), ...rest)
    }
  }
}
