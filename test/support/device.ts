import { SyncClient, type SyncClientOptions } from '../../src/index.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import type { Store } from '../../src/storage/store.ts'
import { BareServer, type BareServerOptions } from './bare-server.ts'
import { type VirtualBareServer, virtualMount } from './bare-server-virtual.ts'
import { VirtualClock, type VirtualEnvironment, VirtualNetwork, virtualEnvironment } from './virtual.ts'

export const baseUrl = 'https://api.example.com/sync/v1'

/** A bare server and Ada's device before it, in virtual time. */
export class Device {
  readonly clock: VirtualClock
  readonly server: BareServer
  readonly mount: VirtualBareServer
  readonly network: VirtualNetwork
  readonly environment: VirtualEnvironment
  /** What outlives a client, as a disk does. */
  readonly store: Store
  token: string
  /** Everything that its clients told, in order. */
  readonly log: string[] = []
  readonly #clients: SyncClient[] = []

  constructor({ store = memoryStore(), ...options }: BareServerOptions & { readonly store?: Store } = {}) {
    this.clock = new VirtualClock()
    this.server = new BareServer({ now: () => this.clock.now(), ...options })
    this.mount = virtualMount(this.server)
    this.network = new VirtualNetwork({ clock: this.clock, server: this.mount })
    this.environment = virtualEnvironment({ seed: 1, clock: this.clock, network: this.network })
    this.store = store
    this.token = this.server.tokens.issue('ada')
  }

  /** A new client on this device, as after a reload. */
  client(options: Partial<SyncClientOptions> = {}): SyncClient {
    const where = options.endpoints ? {} : { baseUrl }
    const client = new SyncClient({
      ...where,
      token: () => this.token,
      identity: 'ada',
      store: this.store,
      environment: this.environment,
      logger: { debug() {}, info() {}, warn() {}, error: (message) => this.log.push(`log ${message}`) },
      ...options,
    })
    client.on('anomaly', ({ kind, message }) => this.log.push(`anomaly ${kind}: ${message}`))
    client.on('error', ({ name, code }) => this.log.push(`error ${name} ${code}`))
    client.on('reset', ({ reason, since }) => this.log.push(`reset ${reason} since ${since}`))
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

  /** Ends every client, as when the tab is closed. */
  async quit(): Promise<void> {
    await this.clock.until(Promise.all(this.#clients.splice(0).map((client) => client.close())))
  }

  /** The paths that were asked for, with their `since`. */
  get requests(): string[] {
    return this.server.requests.map(({ path, query }) => {
      const name = path.slice(path.lastIndexOf('/') + 1)
      return query.has('since') ? `${name} ${query.get('since')}` : name
    })
  }

  /** Writes for Ada. */
  insert(id: string, p: { readonly [field: string]: unknown } = {}): number {
    return this.server.write('ada', [{ op: 'i', t: 'Issue', id, p }])
  }

  update(id: string, p: { readonly [field: string]: unknown }): number {
    return this.server.write('ada', [{ op: 'u', t: 'Issue', id, p }])
  }

  remove(id: string): number {
    return this.server.write('ada', [{ op: 'd', t: 'Issue', id }])
  }
}

/** What a client shows, by type and id; whose it is left out. */
export function shown(client: SyncClient, t = 'Issue'): { [id: string]: unknown } {
  return Object.fromEntries(
    [...client.all(t)]
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .map(({ id, userId: _, ...fields }) => [id, fields]),
  )
}
