import { isSyncError } from '../base/errors.ts'

/** The meaning of a failed request for syncing. */
export type Failure =
  /** Syncing pauses until the credentials change. */
  | { readonly kind: 'unauthenticated' }
  /** The service has another history than the local data: only a snapshot helps. */
  | { readonly kind: 'reset'; readonly reason: 'gone' | 'too_many_changes' }
  /** The service refuses this delta. After three equal refusals in a row, the client fetches a snapshot. */
  | { readonly kind: 'refused'; readonly status: number }
  /** Anything else: the request is made again, not before `retryAfterMs`. */
  | { readonly kind: 'other'; readonly retryAfterMs?: number | undefined }

/** 4xx statuses that may pass: from a portal, a timeout, too early, too often. */
const transient = [403, 408, 425, 429]

/**
 * The meaning of `error`, with which a request failed. `reset` and `refused` apply to deltas only. Not for requests
 * that the caller has aborted.
 */
export function failureOf(error: unknown): Failure {
  if (isSyncError(error, 'UnauthenticatedError')) return { kind: 'unauthenticated' }
  if (!isSyncError(error, 'HttpError')) return { kind: 'other' }
  const { status, serverCode, retryAfterMs } = error
  if (status === 410 || status === 409)
    return { kind: 'reset', reason: serverCode === 'too_many_changes' ? serverCode : 'gone' }
  if (status >= 400 && status < 500 && !transient.includes(status)) return { kind: 'refused', status }
  return { kind: 'other', retryAfterMs }
}

/**
 * Whether the service itself has answered with `error`. No response, a refusal of the credentials, and a response of a
 * portal or a proxy do not prove that the service is reachable.
 */
export function isServiceResponse(error: unknown): boolean {
  if (isSyncError(error, 'NetworkError') || isSyncError(error, 'UnauthenticatedError')) return false
  // The request was not made.
  if (isSyncError(error, 'SyncError')) return false
  if (isSyncError(error, 'ProtocolError')) return error.code !== 'bad_envelope'
  if (!isSyncError(error, 'HttpError')) return true
  const { status, serverCode } = error
  return status >= 500 || status === 429 || serverCode !== undefined
}

/** The meaning of a failed request for its transactions. None of the kinds loses a transaction. */
export type TxFailure =
  /** The server rejects the only transaction of the request. */
  | { readonly kind: 'rejected'; readonly code: string }
  /** The request was too large, or one of its transactions is rejected: send it in halves. */
  | { readonly kind: 'split' }
  /** The server, or a proxy, accepts no transactions at all: nothing is sent for a while. */
  | { readonly kind: 'paused' }
  /** Anything else, as for any other request. */
  | { readonly kind: 'other' }

/** Statuses about the endpoint, or from a portal; never about a single transaction. */
const ofEndpoint = [403, 404, 405, 501]

/** The meaning of `error` for the `count` transactions of a request (docs/protocol.md, "Transactions"). */
export function txFailureOf(error: unknown, count: number): TxFailure {
  if (!isSyncError(error, 'HttpError')) return { kind: 'other' }
  const { status, serverCode } = error
  if (ofEndpoint.includes(status)) return { kind: 'paused' }
  if (transient.includes(status) || status >= 500) return { kind: 'other' }
  if (count > 1 && (status === 413 || serverCode !== undefined)) return { kind: 'split' }
  return serverCode === undefined ? { kind: 'paused' } : { kind: 'rejected', code: serverCode }
}
