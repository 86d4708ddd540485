import type { Unsubscribe } from '../base/emitter.ts'
import type { StorageError, SyncError } from '../base/errors.ts'
import type { HistoryPosition } from '../protocol/bootstrap.ts'
import type { RowOp } from '../protocol/fold.ts'
import type { WireRow } from '../protocol/row.ts'
import type { OutboxStore } from './outbox.ts'
import type { Repair } from './repair.ts'

/**
 * The local database of one identity: the last checkpoint as pages of JSON text, and a journal of the deltas since.
 * It holds confirmed data only, and rows and position become durable together or not at all.
 *
 * Every write but those of the outbox compares a fence that the newest opener raised, or goes where that one has taken the
 * place: whoever was here before is refused (a StorageError of code `fenced`) and has changed nothing.
 */
export interface Database {
  readonly kind: 'durable' | 'memory'
  /**
   * Reads pages and journal from one consistent state. Pages come to `sink` in order, then the journal's ops: before them
   * those that a checkpoint has left, since their records are not there.
   * Resolves with the position reached, or `undefined` where nothing was ever stored. A journal record that cannot
   * be read, or does not link to the one before, ends the journal there, and the records behind it are gone. A page
   * that cannot be read: a StorageError of code `unreadable`, and only a snapshot helps.
   */
  restore(sink: RestoreSink): Promise<Restored | undefined>
  /**
   * Reads what is stored once more, as `restore` does, and changes nothing: for the types that a restart left out. What
   * it finds may lie ahead of what was restored. Resolves with `undefined` also where it is of another shape by now.
   */
  read(sink: RestoreSink): Promise<Restored | undefined>
  /**
   * The user whose data it is, as the service names it; `undefined` if that was never stored. It outlives the data, as the
   * outbox does.
   */
  readCaller(): Promise<string | undefined>
  /** Stores `caller`, unless it is known to be stored. Rejects with a StorageError. */
  storeCaller(caller: string | undefined): Promise<void>
  /** Begins a new generation beside the current one, which stays whole until `commit`. */
  snapshot(): Promise<SnapshotWriter>
  /**
   * Makes one delta durable. Refused with a StorageError of code `broken_link` where the stored position is not
   * `entry.since`: a record that failed leaves no hole behind it.
   */
  append(entry: JournalEntry): Promise<void>
  /**
   * Folds the journal into the pages that it touches, a slice at a time, and cuts it in one transaction. Appends may
   * come in between. Resolves with whether anything was to do; `signal` ends it between two slices.
   */
  checkpoint(signal?: AbortSignal): Promise<boolean>
  /** How large it is, for deciding when a checkpoint is due. */
  readonly size: DatabaseSize
  /** The user's transactions. They outlive every other data. */
  readonly outbox: OutboxStore
  /** Removes pages and journal, so that there is room; a restart then begins without data. */
  drop(): Promise<void>
  close(): void
  /** Tells once when the engine closed it by itself, as a StoreConnection does. */
  onLost(listener: (failure: StorageError) => void): Unsubscribe
}

export interface RestoreSink {
  rows(rows: readonly WireRow[]): void
  ops(ops: readonly RowOp[]): void
  /** Changes without fields, which a checkpoint has left. @default as `ops` */
  readonly unknown?: (ops: readonly RowOp[]) => void
  /** Whether records of `t` are wanted: a page that has no other is not read. What comes may still hold some. @default all */
  readonly holds?: (t: string) => boolean
}

export interface Restored {
  readonly sid: number
  readonly epoch?: string | undefined
  /** When the position was stored, in ms since the epoch. */
  readonly at: number
  /** Why what was migrated could not be stored, if it could not: no delta follows from what is there. */
  readonly failure?: SyncError | undefined
  readonly repair: Pick<Repair, 'owed' | 'at'>
}

export interface JournalEntry {
  readonly since: number
  readonly sid: number
  readonly ops: readonly RowOp[]
  readonly epoch?: string | undefined
  /** Whether records are missing, so that a snapshot is owed: that is remembered until there is one. */
  readonly owesRepair?: boolean | undefined
}

export interface SnapshotWriter {
  /** Stores pages, in one transaction. Resolves when they are stored. */
  page(...pages: readonly Page[]): Promise<void>
  /** Switches to the new generation in one transaction, and clears the journal and what is left of older ones. */
  commit(position: HistoryPosition, repair?: Partial<Repair>): Promise<void>
  /** Drops what was written. The current generation is as it was. */
  abort(): Promise<void>
}

export interface Page {
  /** A JSON array of rows. */
  readonly text: string
  /** How many rows of each type it holds. */
  readonly types: readonly (readonly [t: string, rows: number])[]
}

/** In UTF-16 units of text. */
export interface DatabaseSize {
  readonly pageUnits: number
  readonly journalUnits: number
}
