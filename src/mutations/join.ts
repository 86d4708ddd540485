import type { RecordImage } from '../persistence/outbox.ts'
import { rowKey } from '../protocol/fold.ts'
import type { TxOp } from '../protocol/tx.ts'

/** What `later` does after `earlier`, as one list. What only changes fields once more becomes part of the op before. */
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

/** The images of both; of a record that both have, the earlier one. */
export function joinImages(
  earlier: readonly RecordImage[],
  later: readonly RecordImage[],
): readonly RecordImage[] {
  const known = new Set(earlier.map(({ t, id }) => rowKey(t, id)))
  return [...earlier, ...later.filter(({ t, id }) => !known.has(rowKey(t, id)))]
}
