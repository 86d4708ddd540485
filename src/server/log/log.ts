import type { Unsubscribe } from '../../base/emitter.ts'
import type { Payload } from '../../protocol/json.ts'
import type { Rejection, TxOp } from '../../protocol/tx.ts'
import type { Copies } from './copies.ts'
import type { DatabaseRole } from './database-role.ts'

/**
 * The history of all changes, the records that result from them, and the verdicts on transactions. A log knows the
 * owner of each record, but not the rules: a {@link Judge} decides.
 *
 * Guarantees:
 * - A write is applied completely or not at all. A write takes its sids under one lock and holds the lock until the
 *   write is complete. So a reader who has seen a `sid` never sees a lower one appear later.
 * - A read returns history, head, horizon and content of one snapshot, however long its batches are read.
 * - A batch is JSON text, ready for the wire. The next batch is made when it is requested. A read releases its
 *   resources when its batches end or when `iterator.return` is called, whichever comes first.
 * - A temporary failure rejects with a SyncError that is `retryable`. The client is then asked to send the request
 *   again.
 */
export interface Log {
  /**
   * Applies all of `ops` in order: of an op with `was` only what is left of it, as `remainingOps` says. `judge` decides
   * about each op, based on the record as the earlier ops have left it. Resolves with the `sid` of the last change, or
   * with the head if nothing changed. If `judge` throws, rejects with that error and changes nothing.
   */
  write(ops: readonly TxOp[], judge: Judge, onCommitted?: OnCommitted): Promise<number>
  /**
   * Decides about a client's transaction, finally. Under the lock, in this order:
   *
   * 1. If `caller` already has a verdict on `id` for the same `digest`, returns that verdict. For another `digest`, the
   *    verdict is `id_reused` with that verdict as its `details`. Nothing is stored in both cases.
   * 2. If a verdict on an id as old as `id` may have been forgotten, the verdict is `expired`. Nothing is stored.
   * 3. If the transaction is `refused`, that is the verdict.
   * 4. If a transaction in `requires` has not been accepted from `caller`, the verdict is `dependency_rejected`, or
   *    `expired` if the verdict on the required transaction may have been forgotten.
   * 5. Otherwise the `rules` of the transaction run, if it has any, and the ops are applied as by {@link write}. A
   *    WriteRejectedError of the rules or the judge is the verdict, and no op is applied. If the database itself
   *    refuses the data, the verdict is `invalid`.
   *
   * Records, frames and verdict are stored together, a rejection as well. Each frame carries `id` as its `tx`. Any
   * other error rejects, and nothing is stored. If the rules take too long, rejects with a RuleFailure: they hold the
   * log. Verdicts survive {@link trim}. A verdict is only forgotten if the verdict is old and its id contains a
   * creation time that is as old.
   */
  transact(transaction: ClientTransaction, judge: Judge, onCommitted?: OnCommitted): Promise<Verdict>
  /** The record, of any owner. `undefined` if there is none. */
  read(t: string, id: string): Promise<StoredRecord | undefined>
  /** The next records of a page, in the order of their ids. May return fewer than the limit; none only at the end. */
  list(page: RecordPage): Promise<readonly ListedRecord[]>
  /** The next owners after `after` that have records, in order. None only at the end. */
  owners(after: string, limit: number): Promise<readonly string[]>
  /** Up to `limit` records of `owner`. */
  keysOf(owner: string, limit: number): Promise<readonly RecordKey[]>
  /**
   * Forgets what the log keeps of an owner without records: the fields in earlier changes, which then come as
   * removals, and the verdicts on the transactions of `caller`. Resolves with `false` if the owner has records, and
   * forgets nothing then.
   */
  forget(owner: string, caller?: string): Promise<boolean>
  /**
   * All records of `owners`, as wire rows in JSON. No owner is listed twice. `caller`: the user who reads, so that users
   * can take turns.
   */
  snapshot(owners: readonly string[], caller?: string): Promise<Snapshot>
  /**
   * The changes that `owners` receive after `since`, as frames in JSON, in the order of their sids. If a later change
   * of the same owner removes the record or replaces it as a whole, an earlier one is left out, or, if a transaction
   * made it, comes as a removal: its `tx` says that the data contains the transaction. A removal is left out if the
   * record moved to one of `owners`: the next change is the whole record. There are no batches if `since < horizon`, or if they are too many. No
   * owner is listed twice. `caller`: the user who reads, so that users can take turns.
   */
  delta(owners: readonly string[], since: number, caller?: string): Promise<Delta>
  /**
   * The oldest changes of all owners after `after`: about `limit` of them or fewer. The result never ends within a
   * write.
   */
  changes(after: number, limit: number): Promise<Changes>
  position(): Promise<Position>
  /** What does not work at the moment, while the rest does. @default nothing */
  faults?(): readonly LogFault[]
  /**
   * Calls `listener` when something may have been written. The call is only a hint: it may come late, twice, for
   * nothing, or never. For a write of this log itself, `written` holds the changes, so that listeners need not read
   * them again.
   */
  onHint(listener: (written?: WriteResult) => void): Unsubscribe
  /** Forgets the changes up to and including `sid`. The records stay. */
  trim(sid: number): Promise<void>
  /**
   * Fixes `ownerField` as the field that names the owners of all records. Rejects with a ConfigurationError if another
   * field is fixed already. Called before anything is read or written, possibly several times. A log that ends with its
   * process does not need it.
   */
  claim?(ownerField: string): Promise<void>
  close(): Promise<void>
}

/**
 * Called with the changes of a write once they are committed. Not called if nothing changed, or if the transaction had
 * its verdict already. All writes of one process are reported in the order of the sids. The function must not throw.
 */
export type OnCommitted = (changes: readonly LoggedChange[]) => void

export interface RecordKey {
  readonly t: string
  readonly id: string
}

/** Which records to list. Ids and owners are ordered by code points. */
export interface RecordPage {
  readonly t: string
  /** @default all owners */
  readonly owner?: string | undefined
  /** The id after which the page begins; `''` for the first page. */
  readonly after: string
  readonly limit: number
}

export interface ListedRecord extends StoredRecord {
  readonly id: string
}

export interface Position {
  /** Identifies this history. A restored database has another one. */
  readonly history: string
  /** The highest `sid` so far; 0 in an empty log. */
  readonly head: number
  /** The changes up to and including this `sid` are forgotten. */
  readonly horizon: number
}

/**
 * Something that does not work: a table that is set aside, writes that fail because of their table, or rows that are
 * set aside. `count`: the number of these rows, and otherwise 1. Or the database, which has no room for writes.
 */
export type LogFault =
  | { readonly kind: 'table' | 'writes' | 'row'; readonly type: string; readonly count: number }
  | { readonly kind: 'full' }

export interface LogRead extends Position {
  /** Each batch holds items as JSON without line feeds, joined by `separator`. No batch is empty. */
  readonly batches: AsyncIterable<string>
}

export interface Delta extends LogRead {
  /**
   * Whether the changes are left out because there are too many: so many at once that they made no frames, or so many
   * that reading them takes too long.
   */
  readonly isTooMany?: boolean | undefined
}

export interface Snapshot extends LogRead {
  /** The number of records in the batches. */
  readonly count: number
}

export interface Changes extends Position {
  /** The position up to which `changes` is complete; the head if there are no more. */
  readonly sid: number
  readonly changes: readonly LoggedChange[]
}

/** All changes after `after`, up to the head. */
export interface WriteResult extends Position {
  readonly after: number
  readonly changes: readonly LoggedChange[]
}

export interface LoggedChange {
  readonly sid: number
  readonly owner: string
  /** The owner that receives the whole record with the next `sid`, if this change removes a record that moved. */
  readonly movedTo?: string | undefined
  /** The frame as JSON. */
  readonly frame: string
  /**
   * Whether the fields are forgotten. The frame is a removal then, which is right only together with all later changes
   * up to the head: so a delta may hold it, and a push may not.
   */
  readonly isForgotten?: boolean
}

/** A record as the log stores it. */
export interface StoredRecord {
  readonly owner: string
  /** The `sid` of the last change of the record; its version on the wire. */
  readonly sid: number
  readonly p: Payload
}

/**
 * Decides what an op does to a record. `before` is `undefined` if the record does not exist. Throws a
 * WriteRejectedError to reject all of the ops.
 *
 * `changed` says whether the history holds a change of the record after the op's `unchangedSince`; it is `false` if the
 * op has no `unchangedSince`. Changes by the same ops do not count. In a transaction, only changes that were sent to
 * one of `owners` count, and none that `caller` made by a transaction of `bases`. If the history no longer reaches back
 * to `unchangedSince`, the record counts as unchanged only if it exists and its `sid` is not above `unchangedSince`. If
 * `unchangedSince` is above the head, every record counts as changed.
 *
 * `before` may have no fields if the record is only removed, or if its owner is not among the `owners` of the
 * transaction. `copies` is the same for all ops of one write. With it, the judge may modify a `before` that an earlier
 * op has made, and must add to `copies.checks`, which run after the last op.
 */
export interface Judge {
  (before: StoredRecord | undefined, op: TxOp, changed: boolean, copies?: Copies): Effect
  /** The maximum length of a record's fields in JSON, in bytes, if something else may still change the record. */
  readonly maxRecordBytes?: number
}

/** Reads a record of any owner, as the writes before this one have left it. */
export type ReadRecord = (t: string, id: string) => Promise<StoredRecord | undefined>

/**
 * The application's part in a decision. It runs while the log's lock is held, and runs again from the start if the
 * database rolled the write back. `ops`: what is left of the ops. Throws a WriteRejectedError to reject the
 * transaction, and a RuleFailure to leave it undecided. `read` works until the transaction is decided.
 */
export type Rules = (read: ReadRecord, ops: readonly TxOp[]) => Promise<Ruling>

export interface Ruling {
  readonly judge: Judge
  /**
   * Returns the op to judge and apply in place of `op`. Only its fields may differ. `before` is the record as the
   * earlier ops have left it; like the `before` of a {@link Judge}, it may have no fields. `read` returns each record
   * as the earlier ops have left it, with all fields. Throws as {@link Rules} do.
   */
  readonly prepare?:
    | ((op: TxOp, before: StoredRecord | undefined, read: ReadRecord) => Promise<TxOp>)
    | undefined
}

export interface Effect {
  readonly after: Pick<StoredRecord, 'owner' | 'p'> | undefined
  /** The frames that owners receive, each with its own `sid`. Empty if nothing changed. */
  readonly changes: readonly CommittedChange[]
}

export interface CommittedChange {
  readonly owner: string
  /** The new owner, if the record moved: the next change is the whole record for the new owner. */
  readonly movedTo?: string
  readonly change: { readonly op: 'i' | 'u'; readonly p: Payload } | { readonly op: 'd' }
}

/** A transaction of a client, checked as far as possible without the records. */
export interface ClientTransaction {
  /** The user id of the sender. Ids of transactions are unique for each caller. */
  readonly caller: string
  /** The owners whose records it may change. */
  readonly owners: readonly string[]
  readonly id: string
  /** A digest of the body: equal for equal bodies. It may be long. */
  readonly digest: string
  /** The rejection, if the transaction is refused already. */
  readonly refused?: Rejection | undefined
  /** The rules of the application. With them, the judge that they return decides on the ops. */
  readonly rules?: Rules | undefined
  /**
   * Resolves with the role for ops on tables of the application. Rejects with a RuleFailure. @default that of the log
   */
  readonly as?: (() => Promise<DatabaseRole>) | undefined
  readonly ops: readonly TxOp[]
  /** Ids of the caller's transactions whose changes are no conflict. */
  readonly bases: readonly string[]
  /** Ids of the caller's transactions that must have been accepted. */
  readonly requires: readonly string[]
}

/** Accepted, with the `sid` of the last frame, or the head if nothing changed; or the rejection. */
export type Verdict = { readonly sid: number } | { readonly error: Rejection }
