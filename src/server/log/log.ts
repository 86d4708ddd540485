import type { Unsubscribe } from '../../base/emitter.ts'
import type { Payload } from '../../protocol/json.ts'
import type { Rejection, TxOp } from '../../protocol/tx.ts'
import type { Copies } from './copies.ts'

/**
 * The history of all changes, the records that it has led to, and the verdicts on transactions. It knows whose a
 * record is, and nothing of why.
 *
 * Guarantees:
 * - A write happens whole or not at all. Its sids are taken under one lock that is held until it is complete, so
 *   whoever has seen a `sid` never sees a lower one for the first time afterwards.
 * - A read gives history, head, horizon and content as one snapshot has them, however long its batches are read.
 * - A batch is JSON text, ready for the wire. The next one is made when it is asked for, and what a read holds is
 *   released when its batches end or are returned (`iterator.return`), whichever comes first.
 * - What fails for now alone rejects with a SyncError that is `retryable`: the request is told to come again.
 */
export interface Log {
  /**
   * Does all of `ops` in order, each as `judge` decides about the record as the ops before it have left it. Resolves
   * with the `sid` of the last change, or the head where nothing changed; what `judge` throws comes back, and nothing
   * has happened then.
   */
  write(ops: readonly TxOp[], judge: Judge, tell?: OnCommitted): Promise<number>
  /**
   * Decides about a client's transaction, once and for all. Under the lock, in this order:
   *
   * 1. Where `caller` has a verdict on `id`, it is given again; or `id_reused`, where it was on another `digest`.
   *    Nothing is stored then.
   * 2. Where a verdict on an id as old as `id` may have been forgotten, it is `expired`. Nothing is stored then either.
   * 3. Where it is `refused`, that is the verdict.
   * 4. Where one of `requires` has not been accepted from `caller`, it is `dependency_rejected`; or `expired`, where the
   *    verdict on that one may have been forgotten.
   * 5. The ops are done as by {@link write}. A WriteRejectedError of `judge` is the verdict, and no op has happened;
   *    what the database itself refuses is `invalid`.
   *
   * Records, frames and verdict are stored together, a rejection as well; each frame carries `id` as its `tx`. What
   * else is thrown comes back, and nothing is stored. Verdicts outlive {@link trim}. Only one that is old is ever
   * forgotten, on an id that tells when it was made, and was long ago.
   */
  transact(transaction: ClientTransaction, judge: Judge, tell?: OnCommitted): Promise<Verdict>
  /** All records of `owner`, as the texts of wire rows. */
  snapshot(owner: string): Promise<Snapshot>
  /** The changes of `owner` after `since`, as the texts of frames. There are no batches where `since < horizon`. */
  delta(owner: string, since: number): Promise<LogRead>
  /** The oldest changes of all owners after `after`, about `limit` of them or fewer. It never ends inside a write. */
  changes(after: number, limit: number): Promise<Changes>
  position(): Promise<Position>
  /**
   * Calls `listener` when something may have been written. A hint: it may come late, twice, for nothing, or never.
   * With what this log has written itself, so that nobody has to read it again.
   */
  onHint(listener: (written?: WriteResult) => void): Unsubscribe
  /** Forgets the changes up to `sid`. The records stay. */
  trim(sid: number): Promise<void>
  /**
   * Takes `ownerField` for the field that names the owners of all its records, once and for all. Rejects with a
   * ConfigurationError where it has taken another. Called before anything is read or written, and perhaps again; a log
   * that ends with its process has no need of it.
   */
  claim?(ownerField: string): Promise<void>
  close(): Promise<void>
}

/**
 * Is told what a write has changed, once that is committed: nothing where nothing changed, or where a verdict was there
 * already. All that one process writes is told in the order of the sids. It may not throw.
 */
export type OnCommitted = (changes: readonly LoggedChange[]) => void

export interface Position {
  /** Names this history: to be another one after a restore. */
  readonly history: string
  /** The highest `sid` there is. */
  readonly head: number
  /** The changes up to here are forgotten. */
  readonly horizon: number
}

export interface LogRead extends Position {
  /** Each batch: items as JSON, none with a line feed in it, joined by `separator`. None is empty. */
  readonly batches: AsyncIterable<string>
}

export interface Snapshot extends LogRead {
  /** How many records it holds. */
  readonly count: number
}

export interface Changes extends Position {
  /** How far they reach: the head, where there are no more. */
  readonly sid: number
  readonly changes: readonly LoggedChange[]
}

/** All the changes after `after`, to the head. */
export interface WriteResult extends Position {
  readonly after: number
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

/**
 * Decides what an op does to a record, which may not be there. Throws a WriteRejectedError to refuse all of the ops.
 *
 * `changed` answers the op's `unchangedSince`: whether the history holds a change of the record after it. Changes
 * made by the same ops do not count. In a transaction only what was told to `owner` counts, and nothing that
 * `caller` made by a transaction of `bases`. Where the horizon has passed `unchangedSince`, only a record that is
 * there, and whose `sid` is not above it, is known not to have changed; where the head has not reached it, none is. It
 * is `false` where nothing is asked.
 *
 * Of a record that is only removed, or is another's than a transaction's `owner`, `before` may have no fields. What is
 * given `copies`, the same for all ops of one write, may change in `before` what an earlier one of these ops has left, and
 * adds to their checks, which are to be run behind the last op.
 */
export type Judge = (before: StoredRecord | undefined, op: TxOp, changed: boolean, copies?: Copies) => Effect

export interface Effect {
  readonly after: Pick<StoredRecord, 'owner' | 'p'> | undefined
  /** What is told, and to whom, each under a `sid` of its own. Where there are none, nothing has changed. */
  readonly told: readonly CommittedChange[]
}

export interface CommittedChange {
  readonly owner: string
  readonly change: { readonly op: 'i' | 'u'; readonly p: Payload } | { readonly op: 'd' }
}

/** A transaction of a client, checked as far as can be without the records. */
export interface ClientTransaction {
  /** Who sends it: ids of transactions are unique for each. */
  readonly caller: string
  /** Whose records it is about. */
  readonly owner: string
  readonly id: string
  /** Stands for what it asks for: equal for equal bodies. It may be long. */
  readonly digest: string
  /** Why it is not to happen, where that is decided already. */
  readonly refused?: Rejection | undefined
  readonly ops: readonly TxOp[]
  /** The caller's transactions whose changes are no conflict. */
  readonly bases: readonly string[]
  /** The caller's transactions that must have been accepted. */
  readonly requires: readonly string[]
}

/** Accepted, with the `sid` of the last frame, or the head where nothing changed; or why not. */
export type Verdict = { readonly sid: number } | { readonly error: Rejection }
