import { isObject, jsonEqual } from '../../protocol/json.ts'
import { copyPayload } from '../../protocol/json-copy.ts'
import type { TxOp } from '../../protocol/tx.ts'
import type { Caller } from '../auth/caller.ts'
import type { DataRecord, RecordReader } from '../record.ts'

export interface PrepareContext {
  /**
   * The caller's record before the op. `undefined` if there is none, or if it is not the caller's. For an op with
   * `restores`, the removed record.
   */
  readonly before: DataRecord | undefined
  readonly caller: Caller
  /** The time, in ms since the epoch: the same for all ops of a transaction. */
  readonly now: number
  /** Reads any record, as the earlier transactions and the earlier ops of this one have left it. */
  readonly read: RecordReader
}

/**
 * Completes or changes an op of a client before it is judged: for fields that the server sets. Returns the op, whose
 * fields `p` may differ; `undefined` leaves it as it is. The result is judged as if the client had sent it. A field that
 * it sets stays even if `unset` names it. The fields of a restored record stay as they were.
 *
 * Runs while other writes are held up, within the time limit of {@link Authorize}. It may run more than once before the
 * commit, and for a transaction that is rejected afterwards, but not for one that has its verdict already.
 *
 * Throws a WriteRejectedError to reject the transaction. If the function throws anything else, or changes more than the
 * fields, nothing is decided: the request is answered with 503 and the client sends it again.
 */
export type Prepare = (op: TxOp, context: PrepareContext) => TxOp | undefined | Promise<TxOp | undefined>

const fixed = ['op', 't', 'id', 'put', 'unset', 'unchangedSince', 'restores'] as const

/**
 * `op` with the fields of `result`, which an application's function has returned. Throws a TypeError if `result` is not
 * such an op.
 */
export function preparedOp(op: TxOp, result: unknown): TxOp {
  if (result === undefined) return op
  if (!isObject(result)) throw new TypeError('`prepare` must return an op, or undefined.')
  const before: Readonly<Record<string, unknown>> = op
  const changed = fixed.find((name) => !jsonEqual(result[name], before[name]))
  if (changed)
    throw new TypeError(`\`prepare\` must not change \`${changed}\` of an op, only its fields \`p\`.`)
  if (op.op === 'd') return op
  const copied = copyPayload(result.p)
  if ('payload' in copied) return { ...op, p: copied.payload }
  const { path, what } = copied.fault
  throw new TypeError(
    `\`prepare\` returned a value that cannot be stored: ${path === '' ? 'p' : `p.${path}`} ${what}.`,
  )
}
