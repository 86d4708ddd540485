import { SyncClient, type SyncClientOptions } from '../../src/index.ts'
import {
  createSyncService,
  MemoryLog,
  type SyncService,
  type SyncServiceOptions,
} from '../../src/server/index.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import type { Store } from '../../src/storage/store.ts'
import { VirtualClock } from './virtual-clock.ts'
import { VirtualNetwork, type VirtualServer } from './virtual-network.ts'
import { seededRandom, type VirtualWorld, virtualWorld } from './virtual-world.ts'

export const officeUrl = 'https://office.test/sync/v1'

/** What stands between the clients and the service, for a test to bend. Gives the answer, or passes the request on. */
export type Intercept = (request: Request, pass: () => Promise<Response>) => Promise<Response>

/** Instep's own service, and desks that sync with it, in virtual time. Every token is a user's name. */
export class Office {
  readonly clock = new VirtualClock()
  readonly random = seededRandom(7)
  readonly log = new MemoryLog({ clock: this.clock, random: this.random })
  readonly service: SyncService
  /** The transactions that reached the service, in order, those sent again included. */
  readonly received: string[] = []
  intercept: Intercept = (_, pass) => pass()
  readonly #server: VirtualServer
  #desks = 0

  /** An office that answers from the first request on: what the service loads takes real time. */
  static async open(options: Partial<SyncServiceOptions> = {}): Promise<Office> {
    const office = new Office(options)
    await office.service.ready()
    return office
  }

  private constructor(options: Partial<SyncServiceOptions>) {
    this.service = createSyncService({
      database: this.log,
      authenticate: async ({ headers }) => {
        const name = headers.get('authorization')?.replace('Bearer ', '')
        return name && name !== 'expired' ? { userId: name } : null
      },
      ownerField: 'userId',
      clock: this.clock,
      random: this.random,
      ...options,
    })
    this.#server = {
      fetch: async (request) => {
        if (!request.url.endsWith('/tx')) return this.intercept(request, () => this.service.fetch(request))
        const text = await request.clone().text()
        for (const { id } of JSON.parse(text).txs ?? []) this.received.push(id)
        return this.intercept(request, () => this.service.fetch(request))
      },
      upgrade: (request) => this.service.upgrade(request),
    }
  }

  /** A desk whose disk outlives its clients. */
  desk(options: { readonly store?: Store; readonly user?: string } = {}): Desk {
    this.#desks += 1
    return new Desk(this.clock, this.#server, this.#desks, options)
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
    const { batches } = await this.log.snapshot(user)
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

export class Desk {
  readonly clock: VirtualClock
  readonly network: VirtualNetwork
  readonly world: VirtualWorld
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
    this.world = virtualWorld({ seed, clock, network: this.network })
    this.store = store
    this.token = user
  }

  client(options: Partial<SyncClientOptions> = {}): SyncClient {
    const client = new SyncClient({
      ...(options.endpoints ? {} : { baseUrl: officeUrl }),
      token: () => this.token,
      identity: 'ada',
      store: this.store,
      world: this.world,
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
