import { isSyncError } from '../base/errors.ts'

/** What a call that failed means for syncing. */
export type Failure =
  /** Syncing pauses until there are other credentials. */
  | { readonly kind: 'unauthenticated' }
  /** The service has another history than ours: only a snapshot helps. */
  | { readonly kind: 'reset' }
  /** The service does not take this delta; three of the same in a row are answered with a snapshot. */
  | { readonly kind: 'refused'; readonly status: number }
  /** Anything else: it is tried again, and not before `retryAfterMs`. */
  | { readonly kind: 'other'; readonly retryAfterMs?: number | undefined }

/** 4xx that say nothing against the request itself: a portal, a timeout, too early, too often. */
const passing = [403, 408, 425, 429]

/**
 * What `error`, with which a call ended, means; `reset` and `refused` hold of a delta. A call that its own caller ended
 * has not failed and is not asked about here.
 */
export function failureOf(error: unknown): Failure {
  if (isSyncError(error, 'UnauthenticatedError')) return { kind: 'unauthenticated' }
  if (!isSyncError(error, 'HttpError')) return { kind: 'other' }
  const { status, retryAfterMs } = error
  if (status === 410 || status === 409) return { kind: 'reset' }
  if (status >= 400 && status < 500 && !passing.includes(status)) return { kind: 'refused', status }
  return { kind: 'other', retryAfterMs }
}

/**
 * Whether the service itself has answered, though with `error`. No answer, a refusal of the credentials, and an answer that
 * a portal or a proxy gives for it do not show that the service can be reached.
 */
export function isAnswered(error: unknown): boolean {
  if (isSyncError(error, 'NetworkError') || isSyncError(error, 'UnauthenticatedError')) return false
  if (isSyncError(error, 'ProtocolError')) return error.code !== 'bad_envelope'
  if (!isSyncError(error, 'HttpError')) return true
  const { status, serverCode } = error
  return status >= 500 || status === 429 || serverCode !== undefined
}

/** What the failure of a request with transactions means for them. None of it loses one. */
export type TxFailure =
  /** The server refuses the transaction that was alone in the request. */
  | { readonly kind: 'rejected'; readonly code: string }
  /** The request was too large, or one in it is refused: send it in halves. */
  | { readonly kind: 'split' }
  /** This server, or something before it, takes none at all: nothing is sent for a while. */
  | { readonly kind: 'paused' }
  /** Everything else, as for any other call. */
  | { readonly kind: 'other' }

/** Said of the endpoint, or by a portal; never of one transaction. */
const ofEndpoint = [403, 404, 405, 501]

/** What `error` means for the `count` transactions of a request (the protocol's "Transactions"). */
export function txFailureOf(error: unknown, count: number): TxFailure {
  if (!isSyncError(error, 'HttpError')) return { kind: 'other' }
  const { status, serverCode } = error
  if (ofEndpoint.includes(status)) return { kind: 'paused' }
  if (passing.includes(status) || status >= 500) return { kind: 'other' }
  if (count > 1 && (status === 413 || serverCode !== undefined)) return { kind: 'split' }
  return serverCode === undefined ? { kind: 'paused' } : { kind: 'rejected', code: serverCode }
}
