import { check } from '../base/check-options.ts'
import type { Clock } from '../base/environment.ts'
import { ClosedError, toError, wrongOption } from '../base/errors.ts'
import { silentLogger } from '../base/logger.ts'
import type { SyncClientOptions } from '../client/options.ts'
import { SyncClient } from '../client/sync-client.ts'
import type { ModelDefinitions } from '../models/models.ts'
import { isObject } from '../protocol/json.ts'
import { isName } from './checks.ts'
import { type VirtualEnvironment, virtualEnvironment } from './virtual-environment.ts'
import { VirtualNetwork, type VirtualServer } from './virtual-network.ts'

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

/** What is known of a client beside its status. */
export interface ClientState {
  /** By what it is to be in step. */
  readonly inStep: 'socket' | 'polling'
  /** Why its last request had no answer. */
  failure?: Error
  /** Whether its last transactions got no answer: they are sent again. */
  unanswered?: boolean
}

/** Refuses the use of a server that is closed, or of its devices. */
export function mockClosed(): ClosedError {
  return new ClosedError('This mock server is closed; make a new one.')
}

/** One device before the server: its own way there, and its clients. */
export class MockDevice<C extends Clock = Clock> {
  /** What a client takes from its surroundings, for one that is made with `new SyncClient`. */
  readonly environment: VirtualEnvironment<C>
  /** The clients that were made here. */
  readonly clients = new Map<SyncClient, ClientState>()
  readonly network: VirtualNetwork
  readonly #options: DeviceOptions<C>
  #closed = false

  constructor(options: DeviceOptions<C>) {
    const { seed, clock } = options
    this.#options = options
    this.network = new VirtualNetwork(options)
    this.environment = virtualEnvironment({ seed, clock, network: this.network })
  }

  /** A client on this device, not started. It says nothing to the console. */
  client<M extends ModelDefinitions = ModelDefinitions>(options: MockClientOptions<M>): SyncClient<M> {
    if (this.#closed) throw mockClosed()
    check('options', options, [isObject, 'an object with an `identity`'])
    check('identity', options.identity, isName)
    for (const name of ['baseUrl', 'endpoints']) {
      if (name in options) throw wrongOption(name, 'is known to a mock server; leave it out.')
    }
    const { baseUrl, tokenOf } = this.#options
    const { identity, token = () => tokenOf(identity), ...rest } = options
    const environment = { ...this.environment, ...rest.environment }
    const { fetch } = environment
    const observed = async (...[url, init]: Parameters<typeof fetch>) => {
      let answered = false
      try {
        const response = await fetch(url, init)
        answered = true
        return response
      } catch (error) {
        const { cause = error } = toError(error)
        state.failure = toError(cause)
        throw error
      } finally {
        if (url.endsWith('/tx')) state.unanswered = !answered
      }
    }
    const byToken = rest.apiKey === undefined
    const state: ClientState = { inStep: environment.WebSocket && byToken ? 'socket' : 'polling' }
    const client = new SyncClient<M>({
      baseUrl,
      identity,
      logger: silentLogger,
      ...(byToken && { token }),
      ...rest,
      environment: { ...environment, fetch: observed },
    })
    this.clients.set(client as unknown as SyncClient, state)
    return client
  }

  /** Takes the network away: what is under way fails, and the surroundings say that they are offline. */
  disconnect(): void {
    this.network.cut()
    this.environment.lifecycle.set({ online: false })
  }

  /** Gives it back. */
  reconnect(): void {
    this.network.mend()
    this.environment.lifecycle.set({ online: true })
  }

  /** Closes its clients. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.clients.keys()].map((client) => client.close()))
  }
}
