import type * as z from 'zod/mini'
import { readEnvelope, readSid } from './envelope.ts'
import { isSid, namesOf } from './guards.ts'
import { isDeeperThan, isObject, maxDepth } from './json.ts'
import type { txOpSchema, wireTransactionSchema } from './schema/tx.ts'

export type TxOp = Readonly<z.infer<typeof txOpSchema>>
export type WireTransaction = Readonly<z.infer<typeof wireTransactionSchema>>

/** The most ops in one transaction, unless a service says otherwise. */
export const maxOps = 1_000

/** Why a transaction was refused. */
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

/** Why a transaction was refused, as the server said: one of {@link rejectionCodes}, or a code of its own. */
export interface Rejection {
  readonly code: string
  readonly message: string
  readonly details?: unknown
}

/** The verdict on one transaction: the `sid` of its last frame, or why it was refused. */
export type TxResult =
  | { readonly id: string; readonly sid: number }
  | { readonly id: string; readonly error: Rejection }

/** The verdicts on the transactions of one request. */
export interface TxResponse {
  readonly sid: number
  /** The history in which they were judged. Where it is another than that of the data, the data is fetched first. */
  readonly epoch?: string | undefined
  /** The user who sent them. Where it is another than that of the data, no verdict is taken. */
  readonly caller?: string | undefined
  readonly results: readonly TxResult[]
}

/**
 * Turns transactions into the body of a request, and an answer's body into verdicts: for servers whose bodies are
 * others than the protocol's.
 */
export interface TxCodec {
  /**
   * Whether the server itself refuses what requires a refused transaction. Without it, a transaction is never in one
   * request with one that it requires. @default false
   */
  readonly requires?: boolean
  /** The most transactions in one request. @default 100 */
  readonly maxTransactions?: number
  /** The body, which is sent as JSON. */
  encode(txs: readonly WireTransaction[]): unknown
  /** The verdicts in a 2xx answer, `body` being its JSON. What it throws, the client takes for an answer that is none. */
  decode(body: unknown, txs: readonly WireTransaction[]): TxResponse
}

/** The protocol's own bodies. */
export const standardTxCodec: TxCodec = {
  requires: true,
  encode: (txs) => ({ txs }),
  decode: readTxResponse,
}

/** `value` as an answer. A verdict that is none is left out; a ProtocolError is thrown where the whole is none. */
export function readTxResponse(value: unknown): TxResponse {
  const what = 'The answer to a transaction'
  const message = readEnvelope(value, what)
  const results = Array.isArray(message.results) ? message.results : []
  return {
    sid: readSid(message, what),
    ...namesOf(message),
    results: results.flatMap((item) => readResult(item) ?? []),
  }
}

/** It holds what {@link txResultSchema} holds. */
function readResult(value: unknown): TxResult | undefined {
  if (!isObject(value) || typeof value.id !== 'string') return undefined
  const { id, sid, error } = value
  if (error === undefined || error === null) return isSid(sid) ? { id, sid } : undefined
  if (!isObject(error)) return undefined
  const { code, message, details } = error
  if (typeof code !== 'string') return undefined
  // Deeper ones could not be stored, nor the refusal with them.
  const isKept = details !== undefined && !isDeeperThan(maxDepth, details)
  return {
    id,
    error: { code, message: typeof message === 'string' ? message : code, ...(isKept && { details }) },
  }
}
