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
 * The local database of one identity: the last checkpoint as pages of JSON text, a journal of the deltas since, and the
 * outbox. Pages and journal hold confirmed data only. Rows and position become durable together or not at all.
 *
 * One client, the leader, stores the data. A client that opens the database as the leader raises a stored number, the
 * fence. From then on, each write of another client rejects with a StorageError of code `fenced` and changes nothing.
 * Writes to the outbox are exempt.
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
   * Resolves with the changes that the journal has after `position`. Resolves with `undefined` if the journal begins
   * later, or if the stored data is of another history, or of another snapshot than `copy`: then read all data. Rejects
   * with a StorageError.
   */
  since(position: HistoryPosition, copy: string | undefined): Promise<StoredChanges | undefined>
  /** Why the leader could store nothing when it opened the database; `undefined` once it can. */
  readonly refused?: StorageError | undefined
  /** The number of the leader, which is higher than that of every leader before; 0 if this client does not lead. */
  readonly term: number
  /**
   * The user who owns the data, as the service names the user; `undefined` if no user was ever stored. Like the outbox,
   * the name is kept when the data is dropped.
   */
  readCaller(): Promise<string | undefined>
  /**
   * Stores the name now, unless it is stored already. Every write of data stores it, too. Rejects with a StorageError;
   * of code `fenced` if the database belongs to another user.
   */
  storeCaller(): Promise<void>
  /** Begins a new generation of pages. The current generation stays complete until `commit`. */
  snapshot(): Promise<SnapshotWriter>
  /**
   * Makes one delta durable. Rejects with a StorageError of code `broken_link` if the stored position is not
   * `entry.since`, so that a failed write never leaves a hole.
   */
  append(entry: JournalEntry): Promise<void>
  /**
   * Folds the journal into the pages that it changes, one page at a time, and removes the folded records in one
   * transaction. Appends may happen in between. Resolves with whether there was anything to fold. If `signal` aborts,
   * gives up before the next page.
   */
  checkpoint(signal?: AbortSignal): Promise<boolean>
  /** The size of the stored data, which decides when a checkpoint is due. */
  readonly size: DatabaseSize
  /** The user's transactions. They are kept when the data is dropped. */
  readonly outbox: OutboxStore
  /** The life of the database when this client opened it: see `signOut`. `undefined` if lives have no names. */
  readonly life: string | undefined
  /**
   * Signs the user out in one transaction: removes the data and, unless they are kept, the transactions of all clients,
   * and locks every client out. Rejects with a PendingError or a StorageError, and changes nothing then.
   *
   * A sign-out ends the life of the database, and begins the next one. Each life has a random name. A client that
   * opened the database in an earlier life can only add transactions, which are never sent.
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

/**
 * `tx`: the id of the transaction that made the change. It is stored if that transaction is among the `ends` of the
 * entry.
 */
export type JournalOp = RowOp & { readonly tx?: string | undefined }

export interface JournalEntry {
  readonly since: number
  readonly sid: number
  readonly ops: readonly JournalOp[]
  readonly epoch?: string | undefined
  /** Whether records are missing, so that a snapshot is needed. Stored until the next snapshot. */
  readonly owesRepair?: boolean | undefined
  /**
   * The ends of the transactions that the stored data contains once this delta is stored. They are stored in the same
   * step.
   */
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
