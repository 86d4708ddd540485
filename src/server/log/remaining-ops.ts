import { rowKey } from '../../protocol/fold.ts'
import type { JsonValue, Payload } from '../../protocol/json.ts'
import { remainingOp } from '../../protocol/remaining-op.ts'
import type { TxOp } from '../../protocol/tx.ts'
import type { StoredRecord } from './log.ts'
import { ownRecord } from './ownership.ts'

/**
 * Returns what remains of each op, as {@link remainingOp} says: `undefined` if nothing does. Each op is compared with
 * the record as the earlier ones have left it. `befores`: the record of each op before all of them; it is not needed
 * for a record without a `was`. `owners`: see `WriteRules`.
 */
export function remainingOps(
  ops: readonly TxOp[],
  befores: readonly (StoredRecord | undefined)[],
  owners: readonly string[] | undefined,
): readonly (TxOp | undefined)[] {
  if (ops.every(({ was }) => was === undefined)) return ops
  const current = new Map<string, Current>()
  return ops.map((op, index) => {
    const key = rowKey(op.t, op.id)
    const stored = befores[index]
    const now = current.get(key) ?? { p: (op.op === 'i' ? stored : ownRecord(stored, owners))?.p }
    const left = remainingOp(op, now.p)
    if (left && (now.p || left.op === 'i')) current.set(key, changed(now, left))
    return left
  })
}

/** The fields of a record between two ops; `p` is `undefined` if there is no record. */
interface Current {
  readonly p: Payload | undefined
  /** The same object as `p`, if it is a copy that only one list of ops uses. */
  readonly own?: { [field: string]: JsonValue }
}

/** A record is copied once, however many ops change it. */
function changed({ p, own = { ...p } }: Current, op: TxOp): Current {
  if (op.op === 'd') return { p: undefined }
  if (op.op === 'i') return { p: op.p }
  for (const field of op.unset ?? []) delete own[field]
  Object.assign(own, op.p)
  return { p: own, own }
}
