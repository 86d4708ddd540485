import type { SyncError } from '../base/errors.ts'
import type { HistoryPosition } from '../protocol/bootstrap.ts'
import type { DeltaFrame } from '../protocol/delta.ts'
import type { RowOp } from '../protocol/fold.ts'
import type { WireRow } from '../protocol/row.ts'
import type { OutboxEnd } from './outbox.ts'
import type { Repair } from './repair.ts'

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
export interface DataSize {
  readonly pageUnits: number
  readonly journalUnits: number
}
