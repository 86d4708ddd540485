import { silentLogger } from '../base/logger.ts'
import type { Clock } from '../base/world.ts'
import type { SyncClientOptions } from '../client/options.ts'
import { SyncClient } from '../client/sync-client.ts'
import type { ModelDefinitions } from '../models/models.ts'
import { VirtualNetwork, type VirtualServer } from './virtual-network.ts'
import { type VirtualWorld, virtualWorld } from './virtual-world.ts'

/** The options of a client on a mock's device; where the server is and what the credentials are is known. */
export type MockClientOptions<M extends ModelDefinitions> = Omit<
  SyncClientOptions<M>,
  'baseUrl' | 'endpoints' | 'token' | 'identity'
> & {
  /** Who is signed in. */
  readonly identity: string
  /** @default the newest token of `identity` */
  readonly token?: SyncClientOptions['token']
}

export interface DeviceOptions<C extends Clock> {
  readonly clock: C
  readonly server: VirtualServer
  readonly seed: number
  readonly latencyMs: number
  readonly baseUrl: string
  readonly tokenOf: (identity: string) => string
}

/** One device before the server: its own way there, and its clients. */
export class MockDevice<C extends Clock = Clock> {
  /** What a client takes from its surroundings, for one that is made with `new SyncClient`. */
  readonly world: VirtualWorld<C>
  /** The clients that were made here, and by what each is to be in step. */
  readonly clients = new Map<SyncClient, 'socket' | 'polling'>()
  readonly network: VirtualNetwork
  readonly #options: DeviceOptions<C>

  constructor(options: DeviceOptions<C>) {
    const { seed, clock } = options
    this.#options = options
    this.network = new VirtualNetwork(options)
    this.world = virtualWorld({ seed, clock, network: this.network })
  }

  /** A client on this device, not started. It says nothing to the console. */
  client<M extends ModelDefinitions = ModelDefinitions>(options: MockClientOptions<M>): SyncClient<M> {
    const { baseUrl, tokenOf } = this.#options
    const { identity, token = () => tokenOf(identity), ...rest } = options
    const world = { ...this.world, ...rest.world }
    const byToken = rest.apiKey === undefined
    const client = new SyncClient<M>({
      baseUrl,
      identity,
      logger: silentLogger,
      ...(byToken && { token }),
      ...rest,
      world,
    })
    this.clients.set(client as unknown as SyncClient, world.WebSocket && byToken ? 'socket' : 'polling')
    return client
  }

  /** Takes the network away: what is under way fails, and the surroundings say that they are offline. */
  disconnect(): void {
    this.network.cut()
    this.world.lifecycle.set({ online: false })
  }

  /** Gives it back. */
  reconnect(): void {
    this.network.mend()
    this.world.lifecycle.set({ online: true })
  }

  /** Closes its clients. */
  async close(): Promise<void> {
    await Promise.all([...this.clients.keys()].map((client) => client.close()))
    this.clients.clear()
  }
}
