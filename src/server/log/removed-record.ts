import { rowKey } from '../../protocol/fold.ts'
import type { TxOp } from '../../protocol/tx.ts'
import type { ReadRecord, StoredRecord } from './log.ts'
import { WriteRejectedError } from './rejection.ts'

/** A record that a client's transaction has removed, as it was before that transaction. */
export type RemovedRecord = Pick<StoredRecord, 'owner' | 'p'>

/**
 * What the log knows of the removal that an op undoes: the removed record, or that the record has changed since.
 * `undefined`: nothing.
 */
export type Removal = RemovedRecord | 'changed' | undefined

/** The number of a record's newest changes among which a removal is looked for. */
export const maxSince = 100

/** Throws a WriteRejectedError if `op` restores a record and `removed` is missing. */
export function refuseUnknown(op: TxOp, removed: Removal): void {
  if (op.op !== 'i' || op.restores === undefined || removed) return
  const message = `The service no longer has the ${op.t} ${op.id} that the transaction ${op.restores} removed.`
  throw new WriteRejectedError('not_found', message)
}

/** The op that adds `removed` again: its fields stay as they were, and `op` may add others. */
export function restored(op: TxOp, removed: Removal): TxOp {
  return op.op === 'i' && removed && removed !== 'changed' ? { ...op, p: { ...op.p, ...removed.p } } : op
}

export function asStored(removed: Removal): StoredRecord | undefined {
  return removed === 'changed' ? undefined : removed && { ...removed, sid: 0 }
}

/** `read` for rules: a record that an op restores is read as it was before its removal. */
export function readWithRemoved(
  read: ReadRecord,
  ops: readonly TxOp[],
  removedBy: (op: TxOp, index: number) => Removal,
): ReadRecord {
  const removed = new Map(
    ops.flatMap((op, index) => {
      const record = asStored(removedBy(op, index))
      return record ? [[rowKey(op.t, op.id), record] as const] : []
    }),
  )
  if (removed.size === 0) return read
  return async (t, id) => (await read(t, id)) ?? removed.get(rowKey(t, id))
}
