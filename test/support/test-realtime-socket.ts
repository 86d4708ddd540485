import { type CredentialOptions, createCredentials } from '../../src/network/credentials.ts'
import {
  createRealtimeSocket,
  type RealtimeSocket,
  type RealtimeSocketListener,
  type RealtimeSocketOptions,
} from '../../src/network/realtime-socket.ts'
import { type ManualSockets, manualSockets } from './transport-sockets.ts'
import { seededRandom, settle, VirtualClock, VirtualLifecycle } from './virtual.ts'

export interface RealtimeSocketSetup {
  readonly socket: RealtimeSocket
  readonly clock: VirtualClock
  readonly lifecycle: VirtualLifecycle
  readonly sockets: ManualSockets
  /** What the listener was told, in order. */
  readonly log: string[]
  /** Starts the socket and opens its socket. */
  open(): Promise<void>
  /** Goes on to when the socket tries again. */
  retry(): Promise<void>
}

export interface RealtimeSocketSetupOptions {
  readonly credentials?: CredentialOptions
  readonly sendsHeaders?: boolean
  readonly environment?: Partial<RealtimeSocketOptions['environment']>
  readonly seed?: number
}

/** A socket over sockets that a test drives, in virtual time. */
export function linkSetup(options: RealtimeSocketSetupOptions = {}): RealtimeSocketSetup {
  const { credentials = { token: 's3cret' }, sendsHeaders = false, seed = 1, environment } = options
  const clock = new VirtualClock()
  const lifecycle = new VirtualLifecycle()
  const sockets = manualSockets({ sendsHeaders })
  const log: string[] = []
  const listener: RealtimeSocketListener = {
    opened: () => log.push('opened'),
    message: (data) => log.push(`message ${data}`),
    lost: ({ wasOpen, code }) => log.push(`lost ${wasOpen ? 'open' : 'opening'} ${code}`),
  }
  const socket = createRealtimeSocket({
    environment: {
      clock,
      lifecycle,
      random: seededRandom(seed),
      WebSocket: sockets.WebSocket,
      ...environment,
    },
    wsUrl: 'wss://api.test/ws?v=1',
    credentials: createCredentials(credentials),
    listener,
  })
  return {
    socket,
    clock,
    lifecycle,
    sockets,
    log,
    async open() {
      socket.start()
      await settle()
      sockets.last.opens()
    },
    async retry() {
      const { state } = socket
      if (state.name !== 'waiting') throw new Error('It does not wait.')
      await clock.advance(state.retryAt - clock.now())
    },
  }
}
