import { rowKey } from '../../protocol/fold.ts'
import type { SyncFrame } from '../../protocol/frame.ts'
import type { TxOp } from '../../protocol/tx.ts'
import { Copies } from './copies.ts'
import type { ReadRecord, RecordKey, Ruling, StoredRecord } from './log.ts'
import { remainingOps } from './remaining-ops.ts'
import { asStored, type Removal, refuseUnknown, restored } from './removed-record.ts'

/** The state of an op's record before any of the ops. */
export interface RecordBefore {
  readonly record: StoredRecord | undefined
  /** Whether the record has changed since the op's `unchangedSince`. */
  readonly changed: boolean
  /** Of an op with `restores`: the removal that it undoes. */
  readonly removed?: Removal
}

/**
 * Whether `record` has changed after `since`, as {@link Judge} says. `happened` looks into the history, and is called
 * only if the history reaches back to `since`.
 */
export function hasChanged(
  since: number | undefined,
  horizon: number,
  record: StoredRecord | undefined,
  happened: (since: number) => boolean,
): boolean {
  if (since === undefined) return false
  // The first sid is 1, so a `since` below 0 means the same as 0.
  return Math.max(0, since) < horizon ? !record || record.sid > since : happened(since)
}

/**
 * The number of a record's newest changes that are examined for `unchangedSince`, if a transaction asks about `records`
 * records. If there are more changes after `unchangedSince`, the record counts as changed. So nobody waits for a
 * transaction about a long history.
 */
export function maxExaminedOf(records: number): number {
  return Math.min(1_000, Math.max(10, Math.floor(10_000 / records)))
}

/** The remaining ops, with the state of the record before each. */
export interface RemainingOps {
  readonly ops: readonly TxOp[]
  readonly befores: readonly RecordBefore[]
}

/** See {@link remainingOps}. Throws a WriteRejectedError if an op restores a record that the log no longer has. */
export function remainingWith(
  ops: readonly TxOp[],
  befores: readonly RecordBefore[],
  owners: readonly string[] | undefined,
): RemainingOps {
  const left = remainingOps(
    ops,
    befores.map(({ record }) => record),
    owners,
    // Somebody has removed the record since: nothing is left to bring back.
  ).map((op, index) => (befores[index]?.removed === 'changed' ? undefined : op))
  for (const [index, op] of left.entries()) if (op) refuseUnknown(op, befores[index]?.removed)
  return {
    ops: left.filter((op) => op !== undefined),
    befores: befores.filter((_, index) => left[index] !== undefined),
  }
}

/** The result of ops that are not applied yet. */
export interface Draft {
  /** The last `sid` of the draft, or the head if nothing changes. */
  readonly sid: number
  readonly frames: readonly DraftFrame[]
  /** The new state of each record that changes; `after` is `undefined` for a removal. */
  readonly records: readonly (RecordKey & { readonly after: StoredRecord | undefined })[]
}

export interface DraftFrame {
  readonly owner: string
  /** See {@link CommittedChange.movedTo}. */
  readonly movedTo: string | undefined
  readonly frame: SyncFrame
}

/**
 * Applies ops to a draft, as `ruling` decides. `stamp` goes into every frame. `read` returns records as they are before
 * the ops. Throws the errors of `ruling`.
 */
export async function draft(
  { ops, befores }: RemainingOps,
  { judge, prepare }: Ruling,
  head: number,
  stamp: { readonly at: number; readonly tx?: string },
  read: ReadRecord = async () => undefined,
): Promise<Draft> {
  const records = new Map<string, RecordKey & { after: StoredRecord | undefined }>()
  const frames: DraftFrame[] = []
  const copies = new Copies()
  let sid = head
  const readDraft: ReadRecord = async (t, id) => {
    const kept = records.get(rowKey(t, id))
    return kept ? kept.after : read(t, id)
  }
  for (const [index, op] of ops.entries()) {
    const { t, id } = op
    const key = rowKey(t, id)
    const { record, changed, removed }: RecordBefore = befores[index] ?? { record: undefined, changed: false }
    const kept = records.get(key)
    // A position above the head belongs to another history, as before a restore. The record may differ, so it counts as
    // changed.
    const isChanged = changed || (op.unchangedSince ?? 0) > head
    const before = kept ? kept.after : record
    const prepared = prepare ? await prepare(op, before ?? asStored(removed), readDraft) : op
    const { after, changes } = judge(before, restored(prepared, removed), isChanged, copies)
    for (const { owner, movedTo, change } of changes) {
      sid += 1
      frames.push({ owner, movedTo, frame: { sid, t, id, ...change, ...stamp } })
    }
    if (changes.length > 0) records.set(key, { t, id, after: after && { sid, ...after } })
  }
  copies.checks.run()
  return { sid, frames, records: [...records.values()] }
}
