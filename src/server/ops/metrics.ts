import type { Endpoint } from '../http/env.ts'
import type { LogFault } from '../log/log.ts'

/** Counts requests and sockets, and shows the counts to a monitoring system. */
export interface Metrics {
  /** The path that shows the metrics, like `/metrics`. */
  readonly path: string
  /** Resolves once it can count. Rejects with a ConfigurationError if a package is missing. */
  ready?(): Promise<void>
  answered(answer: ResponseInfo): void
  /**
   * Answers a request for the metrics. The request is not authenticated yet. Call `state` only for clients that may see
   * the metrics, since it reads from the database.
   */
  show(request: Request, state: () => Promise<ServiceState>): Promise<Response>
}

/** A response that has begun. */
export interface ResponseInfo {
  readonly endpoint: Endpoint | 'preflight' | 'other'
  /** The HTTP status; 101 for a socket. */
  readonly status: number
  /** The time until the response began, in ms. */
  readonly ms: number
}

/** The state of the service. */
export interface ServiceState {
  /** The number of open sockets. */
  readonly sockets: number
  /** The position of the log; `undefined` if the log cannot be read. */
  readonly log: { readonly head: number; readonly horizon: number } | undefined
  /** What does not work at the moment. @default nothing */
  readonly faults?: readonly LogFault[]
}
