import type { SyncError } from '../base/errors.ts'
import type { Transaction } from '../mutations/transaction.ts'
import type { StorageStatus } from '../persistence/storage-status.ts'
import type { Anomaly } from '../protocol/anomaly.ts'
import type { RecordChange } from '../records/shown-changes.ts'
import type { Status } from './status.ts'

/** The events of a client: the value that listeners receive, by event name. */
export interface SyncEvents {
  status: Status
  change: ChangeEvent
  /** The server refused a transaction. The transaction stays in the outbox until the application decides about it. */
  rejected: Transaction
  anomaly: Anomaly
  /**
   * Something failed in the background. The client tries again if a retry can help. Being offline is not an error: see
   * `status.connection`.
   */
  error: SyncError
  reset: ResetEvent
  storage: StorageStatus
  /**
   * Another tab runs newer code, and leads from now on. This tab still shows the data, and the newer code sends its
   * writes. Ask the user to reload.
   */
  outdated: OutdatedEvent
}

/** `version`: the version of the models in the newer code. It may be the same if only Instep is newer. */
export interface OutdatedEvent {
  readonly version: number
}

/** The visible data changed. */
export type ChangeEvent =
  /**
   * The data was replaced after a restart or by a snapshot, more rows of the first snapshot are shown, or a lazy type
   * was loaded. Read everything again.
   */
  | { readonly kind: 'snapshot'; readonly lastSyncId: number }
  /** `delta`: also changes from the server. `mutation`: only the user's own transactions were written or undone. */
  | {
      readonly kind: 'delta' | 'mutation'
      readonly lastSyncId: number
      readonly changes: readonly RecordChange[]
    }

/** The client fetched and applied a new snapshot, because deltas could not bring the local copy into step. */
export interface ResetEvent {
  readonly reason: ResetReason
  /** The shown position before the reset. */
  readonly since: number
}

export type ResetReason =
  /** The server no longer has the changes since the client's position (410, 409). */
  | 'gone'
  /** So many changes came that the server does not return them one by one. */
  | 'too_many_changes'
  /** The server's history ends before the client's position: the server was restored from a backup. */
  | 'restored'
  /** The server has another history (another `epoch`), or the caller now owns other data. */
  | 'epoch'
  /** The server refused the delta three times in the same way. */
  | 'refused'
  /**
   * A change could not be read, or updated a record that is not in the local copy; or the disk failed to return a lazy
   * type or to store the last snapshot.
   */
  | 'repair'
