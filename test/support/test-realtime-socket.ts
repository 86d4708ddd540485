import type { WebSocketConstructor, WebSocketLike } from '../../src/base/environment.ts'
import { type CredentialOptions, createCredentials } from '../../src/network/credentials.ts'
import {
  createRealtimeSocket,
  type RealtimeSocket,
  type RealtimeSocketListener,
  type RealtimeSocketOptions,
} from '../../src/network/realtime-socket.ts'
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

/** A socket that does what a test tells it, and remembers what was done to it. */
export class ManualSocket implements WebSocketLike {
  readyState = 0
  onopen: WebSocketLike['onopen'] = null
  onmessage: WebSocketLike['onmessage'] = null
  onclose: WebSocketLike['onclose'] = null
  onerror: WebSocketLike['onerror'] = null
  readonly url: string
  readonly headers: Readonly<Record<string, string>> | undefined
  closed = false

  constructor(url: string, headers?: Readonly<Record<string, string>>) {
    this.url = url
    this.headers = headers
  }

  send(): void {}

  /** Begins a closing handshake that never ends, as in a black hole. */
  close(): void {
    this.readyState = 2
    this.closed = true
  }

  opens(): void {
    this.readyState = 1
    this.onopen?.({})
  }

  says(data: unknown): void {
    this.onmessage?.({ data })
  }

  /** Ends without a handshake, as when the other side dies. */
  dies(code = 1006): void {
    this.readyState = 3
    this.onerror?.({})
    this.onclose?.({ code, reason: '' })
  }
}

export interface ManualSockets {
  readonly WebSocket: WebSocketConstructor
  /** All that were made, the newest last. */
  readonly all: readonly ManualSocket[]
  /** Those that nobody has closed. */
  readonly live: readonly ManualSocket[]
  /** The newest. */
  readonly last: ManualSocket
}

export function manualSockets({ sendsHeaders = false } = {}): ManualSockets {
  const all: ManualSocket[] = []
  const WebSocket = class extends ManualSocket {
    static readonly sendsHeaders = sendsHeaders

    constructor(url: string, _protocols?: string[], options?: { headers: Readonly<Record<string, string>> }) {
      super(url, options?.headers)
      all.push(this)
    }
  }
  return {
    WebSocket,
    all,
    get live() {
      return all.filter((socket) => !socket.closed && socket.readyState < 2)
    },
    get last() {
      const last = all.at(-1)
      if (!last) throw new Error('No socket was made.')
      return last
    },
  }
}
