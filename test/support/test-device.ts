import { SyncClient, type SyncClientOptions } from '../../src/index.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import type { Store } from '../../src/storage/store.ts'
import type { VirtualClock, VirtualEnvironment, VirtualNetwork } from './virtual.ts'

export const baseUrl = 'https://sync.test/sync/v1'

export type ClientOptions = Partial<SyncClientOptions>

export interface DeviceParts {
  readonly clock: VirtualClock
  readonly network: VirtualNetwork
  readonly environment: VirtualEnvironment
  readonly token: string
  readonly store?: Store | undefined
}

/** Ada's device, whose disk outlives its clients. */
export class TestDevice {
  readonly clock: VirtualClock
  readonly network: VirtualNetwork
  readonly environment: VirtualEnvironment
  readonly store: Store
  token: string
  /** What the clients report, in order. */
  readonly log: string[] = []
  readonly #clients: SyncClient[] = []

  constructor({ clock, network, environment, token, store = memoryStore() }: DeviceParts) {
    this.clock = clock
    this.network = network
    this.environment = environment
    this.token = token
    this.store = store
  }

  /** A new client on this device, as after a reload. */
  client(options: ClientOptions = {}): SyncClient {
    const client = new SyncClient({
      ...(options.endpoints ? {} : { baseUrl }),
      token: () => this.token,
      identity: 'ada',
      store: this.store,
      environment: this.environment,
      logger: { debug() {}, info() {}, warn() {}, error: (message) => this.log.push(`log ${message}`) },
      ...options,
    })
    client.on('anomaly', ({ kind, message }) => this.log.push(`anomaly ${kind}: ${message}`))
    client.on('error', ({ name, code }) => this.log.push(`error ${name} ${code}`))
    client.on('rejected', ({ label, rejection }) => this.log.push(`rejected ${label} ${rejection?.reason}`))
    client.on('reset', ({ reason, since }) => this.log.push(`reset ${reason} since ${since}`))
    this.#clients.push(client)
    return client
  }

  /** A client that has started, and is in step over a socket. */
  async live(options: ClientOptions = {}): Promise<SyncClient> {
    const client = this.client(options)
    await client.start()
    await this.clock.advance(1_000)
    return client
  }

  /** A client after a restart. */
  async restart(options: ClientOptions = {}): Promise<SyncClient> {
    await this.kill()
    return this.live(options)
  }

  /** A client after a restart without the network. */
  async offline(options: ClientOptions = {}): Promise<SyncClient> {
    await this.kill()
    this.network.cut()
    const client = this.client(options)
    await this.clock.until(client.start())
    return client
  }

  /** Hides the page, and shows it again. */
  toFront(): void {
    for (const visible of [false, true]) this.environment.lifecycle.set({ visible })
  }

  /** Ends every client, as when the tab is closed. */
  async quit(): Promise<void> {
    await this.clock.until(Promise.all(this.#clients.splice(0).map((client) => client.close())))
  }

  /** Ends every client without a word to the server, as when the process is killed. What was stored stays. */
  async kill(): Promise<void> {
    this.network.cut()
    await this.quit()
    this.network.mend()
  }
}

/** What a client shows, by type and id, without the owners. */
export function shown(client: SyncClient, t = 'Issue'): { [id: string]: unknown } {
  return Object.fromEntries(
    [...client.all(t)]
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .map(({ id, userId: _, ...fields }) => [id, fields]),
  )
}
