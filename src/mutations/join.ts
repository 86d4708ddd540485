import type { OutboxRecord, RecordImage } from '../persistence/outbox.ts'
import { keyOf } from '../protocol/fold.ts'
import type { TxOp } from '../protocol/tx.ts'

type Joinable = Pick<OutboxRecord, 'ops' | 'before' | 'bases' | 'requires'>

/** The fields of the transaction `id` with the writes of both records, in order. */
export function joinRecords(id: string, earlier: Joinable, later: Joinable): Joinable {
  const union = (a: readonly string[], b: readonly string[]) =>
    [...new Set([...a, ...b])].filter((other) => other !== id)
  return {
    ops: joinOps(earlier.ops, later.ops),
    before: joinImages(earlier.before, later.before),
    bases: union(earlier.bases, later.bases),
    requires: union(earlier.requires, later.requires),
  }
}

/**
 * Joins two lists of ops into one list with the same effect. An update of a record is merged into the op before it on
 * that record.
 */
function joinOps(earlier: readonly TxOp[], later: readonly TxOp[]): readonly TxOp[] {
  const ops = [...earlier]
  const places = new Map(earlier.map((op, at) => [keyOf(op), at]))
  for (const op of later) {
    const key = keyOf(op)
    const at = places.get(key) ?? -1
    const last = ops[at]
    if (last && last.op !== 'd' && op.op === 'u' && op.unchangedSince === undefined) {
      ops[at] = { ...last, p: { ...last.p, ...op.p } }
    } else places.set(key, ops.push(op) - 1)
  }
  return ops
}

/** The images of both lists; if both have an image of a record, the earlier one. */
function joinImages(earlier: readonly RecordImage[], later: readonly RecordImage[]): readonly RecordImage[] {
  const known = new Set(earlier.map(keyOf))
  return [...earlier, ...later.filter((image) => !known.has(keyOf(image)))]
}
