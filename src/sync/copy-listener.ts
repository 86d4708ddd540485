import type { SyncError } from '../base/errors.ts'
import type { RowChange, RowOp } from '../protocol/fold.ts'
import type { StorageStatus } from '../session/status.ts'

/** Hears what becomes of a copy. */
export interface CopyListener {
  /** Calls `apply` to show `changes`, and that the transactions `lifted` are no longer laid over them. */
  change(changes: readonly RowChange[], lifted: readonly string[], apply: () => void): void
  /** Other data stands in place of the old: of all types, or of those that were loaded. */
  replaced(types?: ReadonlySet<string>): void
  /** Changes to records that turn out, now that their type is loaded, not to be here. */
  unknown(ops: readonly RowOp[]): void
  /** What is on the disk alone cannot be had from there. */
  lost(): void
  storage(status: StorageStatus, failure?: SyncError): void
}
