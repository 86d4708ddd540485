import { rowKey } from '../../protocol/fold.ts'
import type { SyncFrame } from '../../protocol/frame.ts'
import type { TxOp } from '../../protocol/tx.ts'
import { Copies } from './copies.ts'
import type { Judge, StoredRecord } from './log.ts'

/** What the log says about an op's record, before any of the ops. */
export interface Before {
  readonly record: StoredRecord | undefined
  /** Whether it has changed since the op's `unchangedSince`. */
  readonly changed: boolean
}

/**
 * Whether a record, which now is `record`, has changed after `since`, as {@link Judge} says. Where the history still knows,
 * `happened` does.
 */
export function hasChanged(
  since: number | undefined,
  horizon: number,
  record: StoredRecord | undefined,
  happened: (since: number) => boolean,
): boolean {
  if (since === undefined) return false
  // The first change of all has a sid above 0.
  return Math.max(0, since) < horizon ? !record || record.sid > since : happened(since)
}

/** What ops come to, before any of it has happened. */
export interface Draft {
  /** The last `sid` of it, or the head where nothing changes. */
  readonly sid: number
  readonly frames: readonly { readonly owner: string; readonly frame: SyncFrame }[]
  /** What each record is now that is another than before. */
  readonly records: readonly (RecordKey & { readonly after: StoredRecord | undefined })[]
}

export interface RecordKey {
  readonly t: string
  readonly id: string
}

/** What each op comes to as `judge` decides; `stamp` goes into every frame. Throws what `judge` throws. */
export function draft(
  ops: readonly TxOp[],
  befores: readonly Before[],
  judge: Judge,
  head: number,
  stamp: { readonly at: number; readonly tx?: string },
): Draft {
  const records = new Map<string, RecordKey & { after: StoredRecord | undefined }>()
  const frames: { owner: string; frame: SyncFrame }[] = []
  const copies = new Copies()
  let sid = head
  for (const [index, op] of ops.entries()) {
    const { t, id } = op
    const key = rowKey(t, id)
    const { record, changed } = befores[index] ?? { record: undefined, changed: false }
    const kept = records.get(key)
    // A position that is not reached is one in another history, as before a restore: nobody can tell what differs.
    const isChanged = changed || (op.unchangedSince ?? 0) > head
    const { after, told } = judge(kept ? kept.after : record, op, isChanged, copies)
    for (const { owner, change } of told) {
      sid += 1
      frames.push({ owner, frame: { sid, t, id, ...change, ...stamp } })
    }
    if (told.length > 0) records.set(key, { t, id, after: after && { sid, ...after } })
  }
  copies.checks.run()
  return { sid, frames, records: [...records.values()] }
}
