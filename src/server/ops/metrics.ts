import type { Endpoint } from '../http/env.ts'

/** Counts what the service does, and shows it to whatever watches. */
export interface Metrics {
  /** Where it is shown, as in `/metrics`. */
  readonly path: string
  /** Resolves once it can count. Rejects with a ConfigurationError where a package is missing. */
  ready?(): Promise<void>
  answered(answer: ResponseInfo): void
  /**
   * The answer to a request for what was counted. It came without authentication; `state` asks the database, so it is
   * for those alone who may see it.
   */
  show(request: Request, state: () => Promise<ServiceState>): Promise<Response>
}

/** An answer that has begun. */
export interface ResponseInfo {
  readonly endpoint: Endpoint | 'preflight' | 'other'
  /** That of HTTP; 101 for a socket. */
  readonly status: number
  /** How long it took to begin, in ms. */
  readonly ms: number
}

/** Where the service stands. */
export interface ServiceState {
  /** How many sockets are open. */
  readonly sockets: number
  /** Where its log stands; `undefined` where it cannot be read. */
  readonly log: { readonly head: number; readonly horizon: number } | undefined
}
