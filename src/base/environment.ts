import type { Unsubscribe } from './emitter.ts'

/**
 * Everything a client takes from outside itself. Each part has its default; a test gives its own, and the whole
 * client runs in virtual time.
 */
export interface Environment {
  readonly fetch: Fetch
  /** The constructor of sockets; `undefined` where there are none, and the client then polls. */
  readonly WebSocket: WebSocketConstructor | undefined
  readonly clock: Clock
  readonly random: Random
  readonly lifecycle: Lifecycle
  /** The address of the page, for paths relative to it; `undefined` outside a page. */
  readonly location: string | undefined
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>

export interface Clock {
  /** The time, in ms since the epoch. */
  now(): number
  /** Calls `callback` once after `ms`, however long that is; the result cancels it. */
  after(ms: number, callback: () => void): Unsubscribe
  /** Gives other tasks a turn: input, rendering, the network. */
  pause(): Promise<void>
}

export interface Random {
  /** A number in [0, 1). */
  number(): number
  /** `length` bytes fit for identifiers. */
  bytes(length: number): Uint8Array
}

/** What the surroundings tell: whether there is a network, whether somebody looks. */
export interface Lifecycle {
  online(): boolean
  visible(): boolean
  /** Attaches to the surroundings at the first listener and detaches at the last. */
  subscribe(listener: (event: LifecycleEvent) => void): Unsubscribe
}

export type LifecycleEvent = 'online' | 'offline' | 'visible' | 'hidden'

/** The part of the standard WebSocket that Instep uses (WHATWG WebSockets, section 3.1). */
export interface WebSocketLike {
  readonly readyState: number
  send(data: string): void
  close(code?: number, reason?: string): void
  onopen: Handler<unknown>
  onmessage: Handler<{ readonly data: unknown }>
  onclose: Handler<{ readonly code: number; readonly reason: string }>
  onerror: Handler<unknown>
}

/** A method, whose parameter is compared both ways: so the standard's own handlers fit, which ask for more. */
type Handler<Event> = { handle(event: Event): void }['handle'] | null

export interface WebSocketConstructor {
  new (
    url: string,
    protocols?: string[],
    options?: { readonly headers: Readonly<Record<string, string>> },
  ): WebSocketLike
  /** Set where the third argument's headers are sent; elsewhere a token goes into the query. */
  readonly sendsHeaders?: boolean
}
