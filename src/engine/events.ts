import type { SyncError } from '../base/errors.ts'
import type { Transaction } from '../mutations/transaction.ts'
import type { StorageStatus } from '../persistence/storage-status.ts'
import type { Anomaly } from '../protocol/anomaly.ts'
import type { DataRecord } from '../records/record.ts'
import type { Status } from './status.ts'

/** What a client tells, by event name. */
export interface SyncEvents {
  status: Status
  change: ChangeEvent
  /** A transaction waits in the outbox, refused by the server. */
  rejected: Transaction
  anomaly: Anomaly
  /** Something failed in the background, and is tried again where that can help. Being offline is no error: `status` tells it. */
  error: SyncError
  reset: ResetEvent
  storage: StorageStatus
}

/** The visible data changed. */
export type ChangeEvent =
  /** A restart or a snapshot put other data in place of the old, or shows more of the first: read anew. */
  | { readonly kind: 'snapshot'; readonly lastSyncId: number }
  /** `delta`: what came from the server; `mutation`: the user's own transactions were made, or taken back. */
  | {
      readonly kind: 'delta' | 'mutation'
      readonly lastSyncId: number
      readonly changes: readonly RecordChange[]
    }

export interface RecordChange {
  /** Any type, also one without a model. */
  readonly type: string
  readonly id: string
  /** `undefined`: it was not there. */
  readonly before: DataRecord | undefined
  /** `undefined`: it is gone. */
  readonly after: DataRecord | undefined
  /** When the change was made, in ms since the epoch, where the server says so. */
  readonly at?: number | undefined
}

/** The local copy was fetched anew, because it could not be brought into step change by change. */
export interface ResetEvent {
  readonly reason: ResetReason
  /** The position before. */
  readonly since: number
}

export type ResetReason =
  /** The server no longer has the changes since our position (410, 409). */
  | 'gone'
  /** The server's history is behind ours: it was restored from a backup. */
  | 'restored'
  /** The server's history is another one. */
  | 'epoch'
  /** The server refused the delta three times in the same way. */
  | 'refused'
  /** A change could not be read, or was for a record that is not here; or the disk did not give a lazy type, or take a snapshot. */
  | 'repair'
