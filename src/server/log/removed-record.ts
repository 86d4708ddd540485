import { rowKey } from '../../protocol/fold.ts'
import type { TxOp } from '../../protocol/tx.ts'
import type { ReadRecord, StoredRecord } from './log.ts'
import { WriteRejectedError } from './rejection.ts'

/** A record that a client's transaction has removed, as it was before that transaction. */
export type RemovedRecord = Pick<StoredRecord, 'owner' | 'p'>

/**
 * The removal that an op undoes, as the log has it: the removed record, or `changed` if the record has changed since, or
 * the transaction did not change it. `undefined` if the log does not have the removal.
 */
export type Removal = RemovedRecord | 'changed' | undefined

/** The log looks for a removal among this many of the record's newest changes. An older removal counts as forgotten. */
export const maxChangesSince = 100

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
