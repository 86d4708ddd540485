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

/** The options of a client on a mock device. The device sets the server's address and, by default, the token. */
export type MockClientOptions<M extends ModelDefinitions> = Omit<
  SyncClientOptions<M>,
  'baseUrl' | 'endpoints' | 'token' | 'identity'
> & {
  /** The identity that is signed in. */
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
  readonly hasSocket: boolean
  readonly tokenOf: (identity: string) => string
}

/** The state of a client that its status does not contain. */
export interface ClientState {
  /** The connection state of the client when it is in step. */
  readonly inStep: 'socket' | 'polling'
  /** The error of the last request without a response. */
  failure?: Error
  /** Whether the last `tx` request got no response, so that the client sends its transactions again. */
  unanswered?: boolean
}

/** The error for using a closed mock server or its devices. */
export function mockClosed(): ClosedError {
  return new ClosedError('The mock server is closed. Create a new one.')
}

/** One device: its network to the server, and its clients. */
export class MockDevice<C extends Clock = Clock> {
  /** The `environment` option for a client that is created with `new SyncClient`. */
  readonly environment: VirtualEnvironment<C>
  /** The clients that were created by `client`. */
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

  /** Creates a client on this device, without starting it. By default, the client logs nothing. */
  client<M extends ModelDefinitions = ModelDefinitions>(options: MockClientOptions<M>): SyncClient<M> {
    if (this.#closed) throw mockClosed()
    check('options', options, [isObject, 'an object with an `identity`'])
    check('identity', options.identity, isName)
    for (const name of ['baseUrl', 'endpoints']) {
      if (name in options) throw wrongOption(name, 'is set by the mock server: omit it.')
    }
    const { baseUrl, hasSocket, tokenOf } = this.#options
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
    const isPushed = hasSocket && environment.WebSocket && byToken
    const state: ClientState = { inStep: isPushed ? 'socket' : 'polling' }
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

  /** Disconnects the network: current requests and sockets fail, and the environment reports that it is offline. */
  disconnect(): void {
    this.network.cut()
    this.environment.lifecycle.set({ online: false })
  }

  /** Reconnects the network, and reports that the environment is online. */
  reconnect(): void {
    this.network.mend()
    this.environment.lifecycle.set({ online: true })
  }

  /** Closes the clients of this device. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.clients.keys()].map((client) => client.close()))
  }
}
