/**
 * The realtime channel: one socket that is opened again whenever it is lost, until `stop`. It says nothing of what
 * the messages mean.
 */
export interface Link {
  readonly state: LinkState
  start(): void
  stop(): void
  /** Closes a socket that no longer hears, and opens another at once. Nothing where none is open. */
  renew(): void
  /** Whoever is silent for twice this long is taken for dead. Holds for the socket that is open now. */
  expectHeartbeat(ms: number): void
}

export type LinkState =
  /** Not wanted, or this runtime cannot open one with these credentials: the client polls. */
  | { readonly name: 'off' }
  | { readonly name: 'opening'; readonly failures: number }
  | { readonly name: 'open' }
  | { readonly name: 'waiting'; readonly failures: number; readonly retryAt: number }

export interface LinkListener {
  opened(): void
  /** `data` as the socket's event holds it. */
  message(data: unknown): void
  /** The socket is gone, or never opened; a browser does not tell why, so a call over HTTP has to. */
  lost(event: { readonly wasOpen: boolean; readonly code: number }): void
}
