import { SyncClient, type SyncClientOptions } from '../../src/index.ts'
import type { SyncFrame } from '../../src/protocol/frame.ts'
import type { TxResult } from '../../src/protocol/tx.ts'
import {
  createSyncService,
  type Log,
  MemoryLog,
  type SyncService,
  type SyncServiceOptions,
} from '../../src/server/index.ts'
import type { ServerSocket } from '../../src/server/realtime/server-socket.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import type { Store } from '../../src/storage/store.ts'
import {
  seededRandom,
  VirtualClock,
  type VirtualEnvironment,
  VirtualNetwork,
  type VirtualServer,
  virtualEnvironment,
} from './virtual.ts'

export const backendUrl = 'https://sync.test/sync/v1'

/** What stands between the clients and the service, for a test to bend. Gives the answer, or passes the request on. */
export type Intercept = (request: Request, pass: () => Promise<Response>) => Promise<Response>

/** What the service says, on a socket or as a body, as far as tests look at it. */
export interface Message {
  readonly sid: number
  readonly since?: number
  readonly epoch?: string
  readonly hello?: { readonly sid: number }
  readonly frames?: readonly SyncFrame[]
  readonly results?: readonly TxResult[]
}

/** An intercept for the requests of one endpoint; the others pass. */
export function at(endpoint: 'bootstrap' | 'delta' | 'tx', intercept: Intercept): Intercept {
  return (request, pass) =>
    new URL(request.url).pathname.endsWith(endpoint) ? intercept(request, pass) : pass()
}

/** An intercept that changes the body of an endpoint's answers. */
export function rewriting(
  endpoint: 'bootstrap' | 'delta' | 'tx',
  change: (body: Message) => unknown,
): Intercept {
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

/** Instep's own service, and devices that sync with it, in virtual time. Every token is a user's name. */
export class TestBackend {
  readonly clock = new VirtualClock()
  readonly random = seededRandom(7)
  /** The transactions that reached the service, in order, those sent again included. */
  readonly received: string[] = []
  intercept: Intercept = (_, pass) => pass()
  /** What the service pushes: calls `send` with it, or with something else, at once or later. */
  push: (message: Message, send: (message: unknown) => void) => void = (message, send) => send(message)
  readonly #options: Partial<SyncServiceOptions>
  #log: Log = this.#emptyLog()
  #service: SyncService
  readonly #server: VirtualServer
  #devices = 0

  /** An backend that answers from the first request on: what the service loads takes real time. */
  static async open(options: Partial<SyncServiceOptions> = {}): Promise<TestBackend> {
    const backend = new TestBackend(options)
    await backend.service.ready()
    return backend
  }

  private constructor(options: Partial<SyncServiceOptions>) {
    this.#options = options
    this.#service = this.#serviceOf()
    this.#server = {
      fetch: async (request) => {
        if (!request.url.endsWith('/tx'))
          return this.intercept(request, () => this.service.fetch(request.clone()))
        const text = await request.clone().text()
        for (const { id } of JSON.parse(text).txs ?? []) this.received.push(id)
        return this.intercept(request, () => this.service.fetch(request.clone()))
      },
      upgrade: async (request) => {
        const accept = await this.service.upgrade(request)
        return typeof accept === 'function' ? (socket) => accept(this.#bent(socket)) : accept
      },
    }
  }

  get log(): Log {
    return this.#log
  }

  get service(): SyncService {
    return this.#service
  }

  /** Another service takes over, which has lost all that there was: its history is another one. */
  startOver(): Promise<void> {
    return this.goOnWith(this.#emptyLog())
  }

  /** Another service takes over, with this history. */
  async goOnWith(log: Log): Promise<void> {
    await this.#service.close()
    this.#log = log
    this.#service = this.#serviceOf()
    await this.#service.ready()
  }

  #emptyLog(): MemoryLog {
    return new MemoryLog({ clock: this.clock, random: this.random })
  }

  #bent(socket: ServerSocket): ServerSocket {
    return {
      get bufferedAmount() {
        return socket.bufferedAmount
      },
      send: (data) => this.push(JSON.parse(data), (message) => socket.send(JSON.stringify(message))),
      close: (code, reason) => socket.close(code, reason),
      addEventListener: (type, listener) => socket.addEventListener(type, listener),
    }
  }

  #serviceOf(): SyncService {
    return createSyncService({
      database: this.log,
      authenticate: async ({ headers }) => {
        const name = headers.get('authorization')?.replace('Bearer ', '')
        return name && name !== 'expired' ? { userId: name } : null
      },
      ownerField: 'userId',
      clock: this.clock,
      random: this.random,
      ...this.#options,
    })
  }

  /** A device whose disk outlives its clients. */
  device(options: { readonly store?: Store; readonly user?: string } = {}): TestDevice {
    this.#devices += 1
    return new TestDevice(this.clock, this.#server, this.#devices, options)
  }

  /** Writes as the service. */
  async insert(id: string, p: { readonly [field: string]: unknown } = {}, userId = 'ada'): Promise<void> {
    await this.service.write([{ op: 'i', t: 'Note', id, p: { userId, ...p } as never }])
  }

  async update(id: string, p: { readonly [field: string]: unknown }): Promise<void> {
    await this.service.write([{ op: 'u', t: 'Note', id, p: p as never }])
  }

  async remove(id: string): Promise<void> {
    await this.service.write([{ op: 'd', t: 'Note', id }])
  }

  /** What the service shows a user, by id. */
  async rows(user = 'ada'): Promise<{ [id: string]: unknown }> {
    const { batches } = await this.log.snapshot([user])
    const rows: { [id: string]: unknown } = {}
    for await (const batch of batches) {
      for (const { id, p } of JSON.parse(`[${batch}]`)) {
        const { userId: _, ...fields } = p
        rows[id] = fields
      }
    }
    return rows
  }
}

export class TestDevice {
  readonly clock: VirtualClock
  readonly network: VirtualNetwork
  readonly environment: VirtualEnvironment
  readonly store: Store
  token: string
  /** What its clients told, in order. */
  readonly log: string[] = []
  readonly #clients: SyncClient[] = []

  constructor(
    clock: VirtualClock,
    server: VirtualServer,
    seed: number,
    { store = memoryStore(), user = 'ada' }: { readonly store?: Store; readonly user?: string },
  ) {
    this.clock = clock
    this.network = new VirtualNetwork({ clock, server, latencyMs: 10 })
    this.environment = virtualEnvironment({ seed, clock, network: this.network })
    this.store = store
    this.token = user
  }

  client(options: Partial<SyncClientOptions> = {}): SyncClient {
    const client = new SyncClient({
      ...(options.endpoints ? {} : { baseUrl: backendUrl }),
      token: () => this.token,
      identity: 'ada',
      store: this.store,
      environment: this.environment,
      logger: { debug() {}, info() {}, warn() {}, error: (message) => this.log.push(`log ${message}`) },
      ...options,
    })
    client.on('error', ({ name, code }) => this.log.push(`error ${name} ${code}`))
    client.on('rejected', ({ label, rejection }) => this.log.push(`rejected ${label} ${rejection?.reason}`))
    client.on('reset', ({ reason }) => this.log.push(`reset ${reason}`))
    this.#clients.push(client)
    return client
  }

  /** A client that has started, and is in step over a socket. */
  async live(options: Partial<SyncClientOptions> = {}): Promise<SyncClient> {
    const client = this.client(options)
    await client.start()
    await this.clock.advance(1_000)
    return client
  }

  /** Leaves without a word, as when the process is killed. What was stored stays. */
  async kill(): Promise<void> {
    this.network.cut()
    await this.clock.until(Promise.all(this.#clients.splice(0).map((client) => client.close())))
    this.network.mend()
  }
}

/** What a client shows, by id; whose it is left out. */
export function notes(client: SyncClient): { [id: string]: unknown } {
  return Object.fromEntries(
    [...client.all('Note')]
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .map(({ id, userId: _, ...fields }) => [id, fields]),
  )
}

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
