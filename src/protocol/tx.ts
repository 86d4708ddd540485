import type * as z from 'zod/mini'
import { readEnvelope, readSid } from './envelope.ts'
import { epochAndCallerOf, featuresOf, isSid } from './guards.ts'
import { isDeeperThan, isObject, maxDepth } from './json.ts'
import type { txOpSchema, wireTransactionSchema } from './schema/tx.ts'

export type TxOp = Readonly<z.infer<typeof txOpSchema>>
export type WireTransaction = Readonly<z.infer<typeof wireTransactionSchema>>

/** The default for the maximum number of ops in a transaction. */
export const maxOps = 1_000

/** The protocol's reasons for the rejection of a transaction. */
export const rejectionCodes = [
  'conflict',
  'exists',
  'not_found',
  'forbidden',
  'invalid',
  'too_large',
  'expired',
  'id_reused',
  'dependency_rejected',
] as const

export type RejectionCode = (typeof rejectionCodes)[number]

/** The code of a result that is no verdict: the service cannot decide about a type at the moment. */
export const typeUnavailable = 'type_unavailable'

/** The rejection of a transaction. `code`: one of {@link rejectionCodes}, or a code of the server's own. */
export interface Rejection {
  readonly code: string
  readonly message: string
  readonly details?: unknown
}

/**
 * The result of one transaction: the `sid` of its last frame, or why it was rejected. An error with the code
 * {@link typeUnavailable} is no verdict: the transaction is sent again after `retryAfter` seconds.
 */
export type TxResult =
  | { readonly id: string; readonly sid: number }
  | { readonly id: string; readonly error: Rejection; readonly retryAfter?: number }

/** The results of the transactions of one request. */
export interface TxResponse {
  readonly sid: number
  /** The history of `sid`. If it differs from that of the data, the client fetches the data first. */
  readonly epoch?: string | undefined
  /** The user who sent the transactions. If it is not the owner of the data, the client ignores the results. */
  readonly caller?: string | undefined
  /** The extensions of the requests that the server supports. Without `was`, no op has a `was` or an `unset`. */
  readonly features?: readonly string[] | undefined
  readonly results: readonly TxResult[]
}

/**
 * Encodes transactions into the body of a request, and decodes results from the body of a response: for servers whose
 * bodies differ from the protocol's.
 */
export interface TxCodec {
  /**
   * Whether the server itself rejects transactions that require a rejected one. If `false`, a transaction and one that
   * it requires are never sent in the same request. @default false
   */
  readonly requires?: boolean
  /** The maximum number of transactions in a request. @default 100 */
  readonly maxTransactions?: number
  /**
   * Returns the body, which is sent as JSON. While it throws, or returns something that is not JSON, nothing is sent, and
   * `status.writes.paused` says so.
   */
  encode(txs: readonly WireTransaction[]): unknown
  /**
   * Returns the results in a 2xx response. `body`: its JSON. If it throws, the client treats the response as faulty, and
   * sends the transactions again.
   */
  decode(body: unknown, txs: readonly WireTransaction[]): TxResponse
}

/** The codec for the protocol's own bodies. */
export const standardTxCodec: TxCodec = {
  requires: true,
  encode: (txs) => ({ txs, features: [typeUnavailable] }),
  decode: readTxResponse,
}

/** Reads `value` as a response. Leaves out faulty results. Throws a ProtocolError if the response itself is faulty. */
export function readTxResponse(value: unknown): TxResponse {
  const what = 'The response'
  const message = readEnvelope(value, what)
  const results = Array.isArray(message.results) ? message.results : []
  return {
    sid: readSid(message, what),
    ...epochAndCallerOf(message),
    ...featuresOf(message),
    results: results.flatMap((item) => readResult(item) ?? []),
  }
}

/**
 * Accepts what {@link txResultSchema} accepts. If the id was already used for another body and the error carries the
 * verdict on that body, returns that verdict: another version of the application has sent the same transaction.
 */
function readResult(value: unknown): TxResult | undefined {
  if (!isObject(value) || typeof value.id !== 'string') return undefined
  const { id, sid, error, retryAfter } = value
  if (error === undefined || error === null) return isSid(sid) ? { id, sid } : undefined
  if (!isObject(error)) return undefined
  const { code, message, details } = error
  if (typeof code !== 'string') return undefined
  // Deeper details could not be stored, nor the rejection with them.
  const isKept = details !== undefined && !isDeeperThan(maxDepth, details)
  const first = code === 'id_reused' && isKept && isObject(details) && readResult({ ...details, id })
  if (first) return first
  return {
    id,
    error: { code, message: typeof message === 'string' ? message : code, ...(isKept && { details }) },
    ...(typeof retryAfter === 'number' && { retryAfter }),
  }
}
