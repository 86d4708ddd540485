import type { Unsubscribe } from '../base/emitter.ts'
import type { StorageError, SyncError } from '../base/errors.ts'
import type { HistoryPosition } from '../protocol/bootstrap.ts'
import type { DeltaFrame } from '../protocol/delta.ts'
import type { RowOp } from '../protocol/fold.ts'
import type { WireRow } from '../protocol/row.ts'
import type { OutboxEnd, OutboxStore } from './outbox.ts'
import type { Repair } from './repair.ts'
import type { SignedOut, SignOut } from './sign-out.ts'

/**
 * The local database of one identity: the last checkpoint as pages of JSON text, and a journal of the deltas since. It
 * holds confirmed data only. Rows and position become durable together or not at all.
 *
 * One client, the leader, stores the data. A client that opens the database as the leader raises a number, the fence.
 * Every write, except a write to the outbox, of any other client is rejected with a StorageError of code `fenced` and
 * changes nothing.
 */
export interface Database {
  readonly kind: 'durable' | 'memory'
  /**
   * Reads pages and journal from one consistent state. The pages reach `sink` in order, then the ops of the journal.
   * Resolves with the stored position, or with `undefined` if nothing was ever stored. The journal ends before the first
   * record that cannot be read or does not continue the record before it; the leader deletes that record and all later
   * ones. Rejects with a StorageError of code `unreadable` if a page cannot be read: only a snapshot helps then.
   */
  restore(sink: RestoreSink): Promise<Restored | undefined>
  /**
   * Reads the stored data again, as `restore` does, for the types that `restore` left out. Changes nothing. The result
   * may be newer than the restored data. Resolves with `undefined` also if a version of the application with other
   * models has stored the data meanwhile.
   */
  read(sink: RestoreSink): Promise<Restored | undefined>
  /**
   * Resolves with the position at the end of the stored data; with `undefined` if there is no data that a client of
   * these models can continue.
   */
  position(): Promise<StoredPosition | undefined>
  /**
   * Resolves with what the journal has after `position`; with `undefined` if the journal begins later, or the stored
   * data is of another history, or of another snapshot than `copy`: then read all of it. Rejects with a StorageError.
   */
  since(position: HistoryPosition, copy: string | undefined): Promise<StoredChanges | undefined>
  /** The error for which the leader could store nothing when it opened the database; `undefined` once it can. */
  readonly refused?: StorageError | undefined
  /** The number of the leader, which is higher than that of every leader before; 0 if this client does not lead. */
  readonly term: number
  /**
   * The user who owns the data, as the service names the user; `undefined` if no user was ever stored. Like the outbox,
   * the name is kept when the data is dropped.
   */
  readCaller(): Promise<string | undefined>
  /** Stores `caller`, unless the same name is already stored. Rejects with a StorageError. */
  storeCaller(caller: string | undefined): Promise<void>
  /** Begins a new generation of pages beside the current one, which stays complete until `commit`. */
  snapshot(): Promise<SnapshotWriter>
  /**
   * Makes one delta durable. Rejects with a StorageError of code `broken_link` if the stored position is not
   * `entry.since`, so that a failed write never leaves a hole.
   */
  append(entry: JournalEntry): Promise<void>
  /**
   * Folds the journal into the pages that it changes, one page at a time, and removes the folded records in one
   * transaction. Appends may happen in between. Resolves with whether there was anything to fold. `signal` ends the
   * work between pages.
   */
  checkpoint(signal?: AbortSignal): Promise<boolean>
  /** The size of the stored data, which decides when a checkpoint is due. */
  readonly size: DatabaseSize
  /** The user's transactions. They are kept when the data is dropped. */
  readonly outbox: OutboxStore
  /** The name of the life that the database was in when it was opened: see `signOut`. `undefined` if it has none. */
  readonly life: string | undefined
  /**
   * Ends the life of the database in one transaction: removes the data and, unless they are kept, the transactions of all
   * clients, and locks every client out. A client that was opened before can only add transactions, which are never sent.
   * Rejects with a PendingError or a StorageError, and changes nothing then.
   */
  signOut(signOut: SignOut): Promise<SignedOut>
  /** Removes pages and journal to make room. The next restart begins without data. */
  drop(): Promise<void>
  close(): void
  /** Calls `listener` at most once: when the browser closes the database without being asked. See StoreConnection. */
  onLost(listener: (failure: StorageError) => void): Unsubscribe
}

export interface RestoreSink {
  /** Called before the first rows. May be called again: then forget all rows and ops so far. */
  begin?(): void
  rows(rows: readonly WireRow[]): void
  ops(ops: readonly RowOp[]): void
  /**
   * Whether the sink wants records of `t`. Pages without any wanted type are not read; the other pages come whole, with
   * the rows of unwanted types. @default all
   */
  readonly holds?: (t: string) => boolean
}

/** The end of the stored data. `copy`: the name of the snapshot that the data began with. */
export interface StoredPosition extends HistoryPosition {
  readonly copy?: string | undefined
}

/** Changes up to the end of the stored data, in order. */
export interface StoredChanges extends StoredPosition {
  readonly frames: readonly DeltaFrame[]
}

export interface Restored extends StoredPosition {
  /** When the position was stored, in ms since the epoch. */
  readonly at: number
  /** The error, if migrated data could not be stored. Do not append a delta to the stored data then. */
  readonly failure?: SyncError | undefined
  readonly repair: Repair
}

/** `tx`: the id of the transaction that made the change. It is stored if that transaction is among the `ends` of the entry. */
export type JournalOp = RowOp & { readonly tx?: string | undefined }

export interface JournalEntry {
  readonly since: number
  readonly sid: number
  readonly ops: readonly JournalOp[]
  readonly epoch?: string | undefined
  /** Whether records are missing, so that a snapshot is needed. Stored until the next snapshot. */
  readonly owesRepair?: boolean | undefined
  /** The ends of transactions that the stored data contains with this delta: they are stored in the same step. */
  readonly ends?: readonly OutboxEnd[] | undefined
}

export interface SnapshotWriter {
  /** Stores pages, in one transaction. Resolves when they are stored. */
  page(...pages: readonly Page[]): Promise<void>
  /**
   * Switches to the new generation in one transaction, which also removes the journal and the pages of older
   * generations. Resolves with the name of the new copy.
   */
  commit(position: HistoryPosition, repair?: Partial<Repair>): Promise<string>
  /** Removes the pages written so far. The current generation is unchanged. */
  abort(): Promise<void>
}

export interface Page {
  /** A JSON array of rows. */
  readonly text: string
  /** The number of rows of each type. */
  readonly types: readonly (readonly [t: string, rows: number])[]
}

/** In UTF-16 units of text. */
export interface DatabaseSize {
  readonly pageUnits: number
  readonly journalUnits: number
}
