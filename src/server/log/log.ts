import type { Undo } from '../../base/emitter.ts'
import type { Payload } from '../../protocol/json.ts'
import type { TxOp } from '../../protocol/tx.ts'

/**
 * The history of all changes, and the records that it has led to. It knows whose a record is, and nothing of why.
 *
 * Guarantees:
 * - A write happens whole or not at all. Its sids are taken under one lock that is held until it is complete, so
 *   whoever has seen a `sid` never sees a lower one for the first time afterwards.
 * - A read gives history, head, horizon and content as one snapshot has them, however long its batches are read.
 * - A batch is JSON text, ready for the wire. The next one is made when it is asked for, and what a read holds is
 *   released when its batches end or are returned (`iterator.return`), whichever comes first.
 */
export interface Log {
  /**
   * Does all of `ops` in order, each as `judge` decides about the record as the ops before it have left it. Resolves
   * with the `sid` of the last change, or the head where nothing changed; what `judge` throws comes back, and nothing
   * has happened then.
   */
  write(ops: readonly TxOp[], judge: Judge): Promise<number>
  /** All records of `owner`, as the texts of wire rows. */
  snapshot(owner: string): Promise<Snapshot>
  /** The changes of `owner` after `since`, as the texts of frames. There are no batches where `since < horizon`. */
  delta(owner: string, since: number): Promise<Read>
  /** The oldest changes of all owners after `after`, about `limit` of them. It never ends inside a write. */
  changes(after: number, limit: number): Promise<Changes>
  position(): Promise<Position>
  /** Calls `listener` when something may have been written. A hint: it may come late, twice, for nothing, or never. */
  onHint(listener: () => void): Undo
  /** Forgets the changes up to `sid`. The records stay. */
  trim(sid: number): Promise<void>
  close(): Promise<void>
}

export interface Position {
  /** Names this history: another one after a restore. */
  readonly history: string
  /** The highest `sid` there is. */
  readonly head: number
  /** The changes up to here are forgotten. */
  readonly horizon: number
}

export interface Read extends Position {
  /** Each batch: items as JSON, joined by commas. None is empty. */
  readonly batches: AsyncIterable<string>
}

export interface Snapshot extends Read {
  /** How many records it holds. */
  readonly count: number
}

export interface Changes extends Position {
  /** How far they reach: the head, where there are no more. */
  readonly sid: number
  readonly changes: readonly LoggedChange[]
}

export interface LoggedChange {
  readonly sid: number
  readonly owner: string
  /** The frame as JSON. */
  readonly frame: string
}

/** A record as it is kept. */
export interface StoredRecord {
  readonly owner: string
  /** The `sid` of its last change: what the wire calls its version. */
  readonly sid: number
  readonly p: Payload
}

/** Decides what an op does to a record, which may not be there. Throws to refuse the whole write. */
export type Judge = (before: StoredRecord | undefined, op: TxOp) => Verdict

export interface Verdict {
  readonly after: Pick<StoredRecord, 'owner' | 'p'> | undefined
  /** What is told, and to whom, each under a `sid` of its own. Where there are none, nothing has changed. */
  readonly told: readonly Told[]
}

export interface Told {
  readonly owner: string
  readonly change: { readonly op: 'i' | 'u'; readonly p: Payload } | { readonly op: 'd' }
}
