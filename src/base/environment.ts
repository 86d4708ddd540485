import type { Unsubscribe } from './emitter.ts'

/**
 * The parts of the runtime that a client uses. Each has a default. A test can pass its own parts, and so run the whole
 * client in virtual time.
 */
export interface Environment {
  readonly fetch: Fetch
  /** The WebSocket constructor. If it is `undefined`, the client polls. */
  readonly WebSocket: WebSocketConstructor | undefined
  readonly clock: Clock
  readonly random: Random
  readonly lifecycle: Lifecycle
  /** The locks that all tabs of the page's origin share; `undefined` outside a secure page. */
  readonly locks: Locks | undefined
  /** The constructor of channels among all tabs of the page's origin; `undefined` where there are none. */
  readonly BroadcastChannel: BroadcastChannelConstructor | undefined
  /** Reports on the origin's storage; `undefined` where the runtime has no such object. */
  readonly storageManager: StorageManagerLike | undefined
  /**
   * Keeps small values, also when the database is deleted; `undefined` where there is no such object. Calls may throw.
   */
  readonly localStorage: LocalStorageLike | undefined
  /** The URL of the page, the base of relative paths; `undefined` outside a page. */
  readonly location: string | undefined
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>

export interface Clock {
  /** The current time, in ms since the epoch. */
  now(): number
  /** Calls `callback` once after `ms`, which has no upper limit. Returns a function that cancels the call. */
  after(ms: number, callback: () => void): Unsubscribe
  /** Resolves after other waiting tasks have run: input, rendering, the network. */
  pause(): Promise<void>
}

export interface Random {
  /** A number in [0, 1). */
  number(): number
  /** `length` random bytes, good enough for unique ids. */
  bytes(length: number): Uint8Array
}

/** Reports whether there is a network and whether the page is visible. */
export interface Lifecycle {
  online(): boolean
  visible(): boolean
  /** Calls `listener` on each change. Returns a function that stops the calls. */
  subscribe(listener: (event: LifecycleEvent) => void): Unsubscribe
}

/**
 * `frozen`: the page goes into the back/forward cache, or the browser stops it in the background; a page may report
 * this twice. `resumed`: the page runs again.
 */
export type LifecycleEvent = 'online' | 'offline' | 'visible' | 'hidden' | 'frozen' | 'resumed'

/** The part of the standard LockManager that Instep uses (Web Locks API, section 3.2). */
export interface Locks {
  /**
   * Calls `body` when the lock `name` is held, and holds the lock until the promise of `body` settles. `shared`:
   * several holders may share the lock. `ifAvailable`: calls `body` with `null` if the lock is not free. `steal`: takes
   * the lock from its holder. Resolves as `body` does. Rejects if the lock is stolen or `signal` aborts the request.
   */
  request(
    name: string,
    options: {
      readonly mode?: 'shared'
      readonly ifAvailable?: boolean
      readonly steal?: boolean
      readonly signal?: AbortSignal
    },
    body: (lock: unknown) => Promise<void>,
  ): Promise<unknown>
}

/** The part of the standard BroadcastChannel that Instep uses (HTML standard, section 9.5). */
export interface BroadcastChannelLike {
  postMessage(message: unknown): void
  close(): void
  onmessage: Handler<{ readonly data: unknown }>
  /** Only in Node: does not keep the process running. */
  unref?(): void
}

export interface BroadcastChannelConstructor {
  new (name: string): BroadcastChannelLike
}

/** The part of the standard StorageManager that Instep uses (Storage standard, section 6). */
export interface StorageManagerLike {
  /** In bytes. */
  estimate?(): Promise<{ readonly usage?: number; readonly quota?: number }>
  persisted?(): Promise<boolean>
  persist?(): Promise<boolean>
}

/** The part of the standard `localStorage` that Instep uses (HTML standard, section 12.2). */
export interface LocalStorageLike {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
  removeItem(key: string): void
}

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

/**
 * The parameter of a method is bivariant, so the handlers of the standard WebSocket, whose events have more fields, are
 * assignable.
 */
type Handler<Event> = { handle(event: Event): void }['handle'] | null

export interface WebSocketConstructor {
  new (
    url: string,
    protocols?: string[],
    options?: { readonly headers: Readonly<Record<string, string>> },
  ): WebSocketLike
  /** Whether the WebSocket sends the headers of the third argument. If not, a token goes into the query. */
  readonly sendsHeaders?: boolean
}
