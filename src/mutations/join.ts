import type { RecordImage } from '../persistence/outbox.ts'
import { rowKey } from '../protocol/fold.ts'
import type { TxOp } from '../protocol/tx.ts'

/**
 * Joins two lists of ops into one list with the same effect. An update of a record is merged into the op before it on
 * that record.
 */
export function joinOps(earlier: readonly TxOp[], later: readonly TxOp[]): readonly TxOp[] {
  const ops = [...earlier]
  const places = new Map(earlier.map(({ t, id }, at) => [rowKey(t, id), at]))
  for (const op of later) {
    const key = rowKey(op.t, op.id)
    const at = places.get(key) ?? -1
    const last = ops[at]
    if (last && last.op !== 'd' && op.op === 'u' && op.unchangedSince === undefined) {
      ops[at] = { ...last, p: { ...last.p, ...op.p } }
    } else places.set(key, ops.push(op) - 1)
  }
  return ops
}

/** The images of both lists; if both have an image of a record, the earlier one. */
export function joinImages(
  earlier: readonly RecordImage[],
  later: readonly RecordImage[],
): readonly RecordImage[] {
  const known = new Set(earlier.map(({ t, id }) => rowKey(t, id)))
  return [...earlier, ...later.filter(({ t, id }) => !known.has(rowKey(t, id)))]
}
