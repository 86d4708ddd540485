import type { SyncClient } from '../../src/index.ts'
import type { SyncFrame } from '../../src/protocol/frame.ts'
import type { TxResult } from '../../src/protocol/tx.ts'
import type { Store } from '../../src/storage/store.ts'
import { type MockSyncServer, type MockSyncServerOptions, mockSyncServer } from '../../src/testing/index.ts'
import { baseUrl, type ClientOptions, shown, TestDevice } from './test-device.ts'
import type { VirtualClock } from './virtual.ts'

export { type ClientOptions, TestDevice }

export const backendUrl = baseUrl

/** Answers a request in place of the service, or passes it on. */
export type Intercept = (request: Request, pass: () => Promise<Response>) => Promise<Response>

type Endpoint = 'bootstrap' | 'delta' | 'tx'

/** What the service sends, on a socket or as a body, as far as tests look at it. */
export interface Message {
  readonly sid: number
  readonly since?: number
  readonly epoch?: string
  readonly frames?: readonly SyncFrame[]
  readonly results?: readonly TxResult[]
}

/** An intercept for the requests of one endpoint; the others pass. */
export function at(endpoint: Endpoint, intercept: Intercept): Intercept {
  return (request, pass) =>
    new URL(request.url).pathname.endsWith(endpoint) ? intercept(request, pass) : pass()
}

/** An intercept that changes the body of an endpoint's answers. */
export function rewriting(endpoint: Endpoint, change: (body: Message) => unknown): Intercept {
  return at(endpoint, async (_, pass) => {
    const response = await pass()
    return response.ok ? Response.json(await change(await response.json())) : response
  })
}

export function failure(status: number, code?: string, headers?: Record<string, string>): Response {
  const body =
    code === undefined ? 'Nothing here.' : JSON.stringify({ error: { code, message: `It is ${code}.` } })
  return new Response(body, { status, ...(headers && { headers }) })
}

/** The server of `instep/testing`, whose requests and pushes a test can change, and Ada's devices. */
export class TestBackend {
  readonly server: MockSyncServer<VirtualClock>
  readonly clock: VirtualClock
  /** A token of each user. */
  readonly tokens: { readonly ada: string; readonly bob: string }
  /** The transactions that were sent to the server, in order, those sent again included. */
  readonly received: string[] = []
  /** The position of the last change. */
  head = 0
  intercept: Intercept = (_, pass) => pass()
  /** Calls `send` with what the service pushes, or with something else, at once or later. */
  push: (message: Message, send: (message: unknown) => void) => void = (message, send) => send(message)

  constructor(options: MockSyncServerOptions = {}) {
    const onCommit = ({ sid }: { readonly sid: number }) => {
      this.head = sid
    }
    this.server = mockSyncServer({ latencyMs: 10, onCommit, ...options })
    this.clock = this.server.clock
    this.tokens = { ada: this.server.token('ada'), bob: this.server.token('bob') }
  }

  /** A device whose requests and pushes pass `intercept` and `push`. */
  device({ store }: { readonly store?: Store | undefined } = {}): TestDevice {
    const { network, environment } = this.server.device()
    network.use({
      fetch: async (request) => {
        if (request.url.endsWith('/tx')) {
          for (const { id } of JSON.parse(await request.clone().text()).txs ?? []) this.received.push(id)
        }
        return this.intercept(request, () => this.server.fetch(request.clone()))
      },
      upgrade: async (request) => {
        const accept = await this.server.upgrade(request)
        if (typeof accept !== 'function') return accept
        return (socket) => {
          const send = socket.send.bind(socket)
          socket.send = (data) => this.push(JSON.parse(data), (message) => send(JSON.stringify(message)))
          accept(socket)
        }
      },
    })
    return new TestDevice({ clock: this.clock, network, environment, store, token: this.tokens.ada })
  }

  /** The endpoints that were asked for, with their `since`. */
  get requests(): string[] {
    return this.server.requests.map(({ endpoint, query: { since } }) =>
      since === undefined ? endpoint : `${endpoint} ${since}`,
    )
  }

  /** How many requests to an endpoint have reached the server. */
  count(endpoint: Endpoint | 'ws'): number {
    return this.server.requests.filter((request) => request.endpoint === endpoint).length
  }

  /** Resolves after `ms` of virtual time. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => void this.clock.after(ms, resolve))
  }

  /** Writes as the service. */
  async insert(id: string, p: { readonly [field: string]: unknown } = {}, userId = 'ada'): Promise<void> {
    await this.server.write([{ op: 'i', t: 'Note', id, p: { userId, ...p } as never }])
  }

  async update(id: string, p: { readonly [field: string]: unknown }): Promise<void> {
    await this.server.write([{ op: 'u', t: 'Note', id, p: p as never }])
  }

  async remove(id: string): Promise<void> {
    await this.server.write([{ op: 'd', t: 'Note', id }])
  }

  /** What the server has for a user, by id, without the owners. */
  async rows(user = 'ada'): Promise<{ [id: string]: unknown }> {
    const rows = await this.server.rows(user)
    return Object.fromEntries(rows.map(({ id, p: { userId: _, ...fields } }) => [id, fields]))
  }
}

/** A server without notes, and a device of Ada's. */
export function newDevice() {
  const backend = new TestBackend()
  return { backend, device: backend.device() }
}

/** A server with these notes of Ada's, and her client, which is in step. `store` is of the device. */
export async function inStep(
  stored: { readonly [id: string]: { readonly [field: string]: unknown } } = {},
  { store, ...options }: ClientOptions = {},
  service: MockSyncServerOptions = {},
) {
  const backend = new TestBackend(service)
  for (const [id, fields] of Object.entries(stored)) await backend.insert(id, fields)
  const device = backend.device({ store })
  return { backend, device, client: await device.live(options) }
}

export const oneNote = (options: ClientOptions = {}) => inStep({ 1: { title: 'Milk', n: 1 } }, options)

/** The note, which somebody else has changed since this client saw it, and an update that asks for the conflict. */
export async function conflict(options: ClientOptions = {}) {
  const { backend, device, client } = await oneNote(options)
  device.network.cut()
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'mine' }, { ifUnchanged: true }), {
    label: 'Rename',
  })
  await backend.update('1', { title: 'theirs', n: 2 })
  device.network.mend()
  await backend.clock.advance(60_000)
  return { backend, device, client, tx }
}

export const notes = (client: SyncClient) => shown(client, 'Note')

/** Every value that subscribers of a query and of `change` see of one field, from now on. */
export function watched(client: SyncClient, id: string, field: string): unknown[] {
  const seen: unknown[] = []
  const look = () => {
    const value = client.get('Note', id)?.[field]
    if (seen.length === 0 || seen.at(-1) !== value) seen.push(value)
  }
  client.query('Note', { where: { id } }).subscribe(look)
  client.on('change', look)
  client.on('status', look)
  client.outbox.subscribe(look)
  return seen
}

/** Inserts a note. */
export const add = (client: SyncClient, id: string, label = id) =>
  client.mutate((m) => m.insert('Note', { id }), { label })

/** Ids in the order in which their transactions are made. */
export const names = (count: number) =>
  Array.from({ length: count }, (_, n) => `n${String(n).padStart(3, '0')}`)

/** Counts the requests for transactions, and answers them with `answer`. */
export function counting(backend: TestBackend, answer: Intercept) {
  const times: number[] = []
  const sizes: number[] = []
  backend.intercept = at('tx', async (request, pass) => {
    times.push(backend.clock.now())
    sizes.push(JSON.parse(await request.clone().text()).txs.length)
    return answer(request, pass)
  })
  return { times, sizes }
}
