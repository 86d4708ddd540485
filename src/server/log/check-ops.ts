import { isDeeperThan, jsonEqual, maxDepth, type Payload } from '../../protocol/json.ts'
import { txOpSchema } from '../../protocol/schema/tx.ts'
import type { TxOp } from '../../protocol/tx.ts'
import { WriteRejectedError } from './rejection.ts'

/**
 * Copies of `ops`, safe to keep and to send. Throws a WriteRejectedError of reason `invalid` for an op that is none,
 * for one that nests deeper than the protocol allows, and for a value that JSON would change.
 */
export function checkOps(ops: readonly TxOp[]): TxOp[] {
  return ops.map((op, index) => {
    const { success, data } = txOpSchema.safeParse(op)
    if (!success)
      throw invalid(index, 'is no op with a type `t`, an `id` and, unless it is a `d`, fields `p`')
    return data.op === 'd' ? data : { ...data, p: checkedFields(data.p, index) }
  })
}

function checkedFields(p: Payload, index: number): Payload {
  // A row or frame holds the fields one level down.
  if (isDeeperThan(maxDepth - 1, p)) throw invalid(index, `nests deeper than ${maxDepth} levels`)
  const copy = copyOf(p)
  if (!jsonEqual(p, copy)) throw invalid(index, 'holds a value that JSON would change, like a Date or a NaN')
  return copy
}

function copyOf(p: Payload): Payload {
  try {
    return JSON.parse(JSON.stringify(p))
  } catch {
    // A bigint, for which there is no JSON at all.
    return {}
  }
}

function invalid(index: number, what: string): WriteRejectedError {
  return new WriteRejectedError('invalid', `The op at ${index} ${what}.`)
}
