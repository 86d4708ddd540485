import { sql } from 'kysely'
import { rowKey } from '../../protocol/fold.ts'
import type { TxOp } from '../../protocol/tx.ts'
import { checkSize, defaultRecordBytes } from '../log/check-size.ts'
import { Copies } from '../log/copies.ts'
import type { DatabaseRole } from '../log/database-role.ts'
import { decideOn, type StoredVerdict } from '../log/decide-on.ts'
import { type Draft, draft, hasChanged } from '../log/draft.ts'
import type { ReadRecord, Ruling, StoredRecord, WriteResult } from '../log/log.ts'
import { remainingOps } from '../log/remaining-ops.ts'
import { asStored, type Removal, readWithRemoved, refuseUnknown, restored } from '../log/removed-record.ts'
import { RuleFailure, type RuleRunner } from '../log/rules.ts'
import { changeChecksOf, changesFound, changesOf, type FoundChange } from '../log/sql/changes.ts'
import type { Db, SqlDatabase } from '../log/sql/database.ts'
import type { Entry, NewVerdict, Outcome, Write } from '../log/sql/group.ts'
import { readRecord } from '../log/sql/read.ts'
import { refuseTooLarge, tooLarge } from '../log/sql/records.ts'
import { readRemoved } from '../log/sql/removed.ts'
import { isOfDatabase } from '../log/sql/sql-state.ts'
import { type GroupResult, lockAndRead, store } from '../log/sql/write.ts'
import { TypeUnavailable } from '../log/type-unavailable.ts'
import { AssumedRole } from './assume-role.ts'
import { changesBetween, type RecordState } from './compare.ts'
import { type ChangedRecord, lockTables, storedOf, tableIsLocked, takeChanges } from './drain.ts'
import { ColumnsChanged, type MappedTable } from './inspect.ts'
import { measureOwnChanges } from './own-changes.ts'
import { type RefusalOptions, refuseHidden, rejectionOf, tableFaultOf } from './refuse-op.ts'
import { checkKey, type RowOp, readRows, restoreRow, writeRow } from './write-row.ts'

export interface TransactOptions {
  readonly database: Pick<SqlDatabase, 'notify' | 'history' | 'pageReads'>
  readonly tables: ReadonlyMap<string, MappedTable>
  /** Whether the table of a type is set aside. */
  readonly isAside: (type: string) => boolean
  readonly runner: RuleRunner
  /** The role under which the ops on attached tables run, if not under that of the service. */
  readonly role: DatabaseRole | undefined
  /** The time of all changes, in ms since the epoch. */
  readonly at: number
  readonly verdictHorizon: number
  /** The name of the history for which `tables` are known to be attached. */
  readonly history: string
  /** How long to wait for the log's lock, in ms. */
  readonly maxLogMs: number
  /** Called before the log's lock is taken. */
  readonly beforeLock: () => Promise<void>
}

export type RunAgainReason =
  /** Something that was read has changed since. */
  | 'changed'
  /** More changes are queued than a transaction can record. */
  | 'tooMany'
  /** The history has another name: perhaps another mapping was attached. */
  | 'history'
  /** The queued changes cannot be read: perhaps a table does not fit any more, or a row cannot be read. */
  | 'unreadable'

/**
 * The transaction has to run again from the start: something that it has read has changed, or too many changes are
 * queued.
 */
export class RunAgain extends Error {
  readonly reason: RunAgainReason

  constructor(reason: RunAgainReason, options?: ErrorOptions) {
    super('The transaction has to run again.', options)
    this.reason = reason
  }
}

export interface TransactResult {
  readonly outcome: Outcome
  /** The queued changes of others, then those of the transaction. Absent if nothing was stored. */
  readonly written?: WriteResult
  /** The number of the transaction's own changes, which are the last of `written`. */
  readonly ownChanges: number
}

/**
 * Decides about a write with ops on attached tables, in the transaction of `db`. The application's tables come first,
 * under a savepoint; then the log's lock, the queued changes, and the ops on other types. So the holder of the log's
 * lock waits for nothing. Throws {@link RunAgain}, errors after which another try may succeed, and all errors of the
 * judge other than a WriteRejectedError.
 */
export async function transactIn(db: Db, write: Write, options: TransactOptions): Promise<TransactResult> {
  const { transaction } = write
  const attempt = new Attempt(db, write, options)
  if (!transaction) {
    const drafted = await attempt.run()
    await attempt.store([])
    return { outcome: { verdict: { sid: drafted.sid }, draft: drafted }, ...attempt.transacted }
  }
  const { caller, id, digest } = transaction
  // Another request may run the same transaction. Do not lock a row of the verdict for this: the holder of the log's
  // lock might have to wait for it.
  await sql`select pg_advisory_xact_lock(hashtextextended(${JSON.stringify(['instep', caller, id])}, 0))`.execute(
    db,
  )
  const kept = await readVerdicts(db, caller, [id, ...transaction.requires])
  let failure: RuleFailure | undefined
  const drafted = async () => {
    try {
      return await underSavepoint(db, () => attempt.run())
    } catch (error) {
      if (error instanceof RuleFailure) failure = error
      throw error
    }
  }
  const decided = await decideOn(
    transaction,
    (named) => kept.get(named),
    drafted,
    options.verdictHorizon,
  ).catch((error: unknown) => {
    if (failure) return { failure }
    throw error
  })
  if ('failure' in decided || decided.isNotStored) return { outcome: decided, ownChanges: 0 }
  await attempt.store([{ caller, id, digest, verdict: decided.verdict }])
  return { outcome: decided, ...attempt.transacted }
}

/** Runs `work`. If it throws, what it has done is undone, locks included. */
async function underSavepoint<T>(db: Db, work: () => Promise<T>): Promise<T> {
  await sql`savepoint instep_ops`.execute(db)
  try {
    return await work()
  } catch (error) {
    // Without a connection, the database undoes everything by itself.
    await sql`rollback to savepoint instep_ops`.execute(db).catch(() => {})
    throw error
  }
}

interface VerdictRow {
  readonly id: string
  readonly digest: string
  readonly sid: number | null
  readonly error: StoredVerdict['verdict'] extends infer V
    ? V extends { error: infer E }
      ? E
      : never
    : never
}

async function readVerdicts(
  db: Db,
  caller: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, StoredVerdict>> {
  const { rows } = await sql<VerdictRow>`
    select id, digest, sid::float8 as sid, error from instep_verdict
    where caller = ${caller} and id = any(${[...ids]}::text[])`.execute(db)
  return new Map(
    rows.map(({ id, digest, sid, error }) => [id, { digest, verdict: sid === null ? { error } : { sid } }]),
  )
}

/** One try of a write. */
class Attempt {
  readonly #db: Db
  readonly #write: Write
  readonly #options: TransactOptions
  readonly #role: AssumedRole | undefined
  /** The rows that the write has locked, as they were before. */
  readonly #befores = new Map<string, RecordState | undefined>()
  /** The records outside of attached tables that the rules have read, with the sid of each. */
  readonly #read = new Map<string, { readonly t: string; readonly id: string; readonly sid: number }>()
  /** The removals that the ops undo, by the keys of their records. */
  #removed: ReadonlyMap<string, Removal> = new Map()
  #locked: Locked | undefined
  #stored: Omit<GroupResult, 'verdicts'> | undefined
  #own = 0
  #written: WriteResult | undefined

  constructor(db: Db, write: Write, options: TransactOptions) {
    this.#db = db
    this.#write = write
    this.#options = options
    this.#role = options.role && new AssumedRole(db, options.role)
  }

  get transacted(): Pick<TransactResult, 'written' | 'ownChanges'> {
    return { ...(this.#written && { written: this.#written }), ownChanges: this.#own }
  }

  /** Applies the ops to rows, then takes the log's lock, records the queued changes, and applies the other ops. */
  async run(): Promise<Draft> {
    const { judge, transaction } = this.#write
    const { rules } = transaction ?? {}
    const remaining = await this.#left()
    await this.#readRemoved(remaining.map(({ op }) => op))
    // Somebody has removed the record since: nothing is left to bring back.
    const left = remaining.filter(({ op }) => this.#removedOf(op) !== 'changed')
    const ops = left.map(({ op }) => op)
    if (!rules) return this.#apply(left, { judge }, this.#reader)
    const readAll = readWithRemoved(this.#reader, ops, (op) => this.#removedOf(op))
    return this.#options.runner.run(readAll, async (read) => this.#apply(left, await rules(read, ops), read))
  }

  /** Reads the records that `ops` restore. Throws a WriteRejectedError if one is unknown, or if they are too long. */
  async #readRemoved(ops: readonly TxOp[]): Promise<void> {
    const { judge, transaction } = this.#write
    const removed = await readRemoved(this.#db, { ops, judge, ...(transaction && { transaction }) })
    if (!removed) throw tooLarge()
    this.#removed = removed
    for (const op of ops) refuseUnknown(op, this.#removedOf(op))
  }

  #removedOf(op: TxOp): Removal {
    return op.op === 'i' && op.restores !== undefined ? this.#removed.get(rowKey(op.t, op.id)) : undefined
  }

  /** Returns the remaining ops. From here on, nobody else changes the rows that they were compared with. */
  async #left(): Promise<readonly RowOp[]> {
    const { ops, transaction } = this.#write
    const { tables } = this.#options
    const left = remainingOps(ops, await this.#recordsToCompare(), transaction?.owners)
    return left.flatMap((op, index) => (op ? { op: tables.has(op.t) ? withoutUnset(op) : op, index } : []))
  }

  /** The record of each op, if it is compared with a `was`. Locks the rows of all ops then, to keep their order. */
  async #recordsToCompare(): Promise<readonly (StoredRecord | undefined)[]> {
    const { ops } = this.#write
    const { tables } = this.#options
    const compared = new Set(ops.flatMap(({ was, t, id }) => (was === undefined ? [] : rowKey(t, id))))
    if (compared.size === 0) return []
    const rowOps = ops.map((op, index) => ({ op, index })).filter(({ op }) => tables.has(op.t))
    const { row } = await this.#lockRows(rowOps)
    const records: (StoredRecord | undefined)[] = []
    for (const op of ops) {
      const state = row(op)
      const isOther = !tables.has(op.t) && compared.has(rowKey(op.t, op.id))
      records.push(isOther ? await this.#reader(op.t, op.id) : state && { ...state, sid: 0 })
    }
    return records
  }

  /** Stores the result of {@link run}, if it has succeeded, and `verdicts`. */
  async store(verdicts: readonly NewVerdict[]): Promise<void> {
    const { database, at } = this.#options
    // A rejection has released the lock again.
    const { position } = (this.#stored && this.#locked) ?? (await this.#lock([]))
    const stored = this.#stored ?? { head: position.head, entries: [], records: [] }
    await database.pageReads?.keep(this.#db, stored.records, stored.head)
    if (stored.entries.length + verdicts.length > 0)
      await store(this.#db, database.notify, { ...stored, verdicts }, at)
    const changes = stored.entries.map(({ sid, owner, movedTo, frame }) => {
      return { sid, owner, movedTo, frame: JSON.stringify(frame) }
    })
    this.#written = { ...position, head: stored.head, after: position.head, changes }
  }

  readonly #reader: ReadRecord = async (t, id) => {
    const table = this.#options.tables.get(t)
    if (this.#options.isAside(t)) throw new TypeUnavailable(t)
    if (table) {
      const row = (await readRows(this.#db, table, [id], false)).get(id)
      return row && { ...row, sid: 0 }
    }
    const record = await readRecord(this.#db, t, id)
    const key = rowKey(t, id)
    if (!this.#read.has(key)) this.#read.set(key, { t, id, sid: record?.sid ?? 0 })
    return record
  }

  async #apply(left: readonly RowOp[], ruling: Ruling, read: ReadRecord): Promise<Draft> {
    const { tables, at } = this.#options
    const { transaction } = this.#write
    const rowOps = left.filter(({ op }) => tables.has(op.t))
    await this.#applyToRows(rowOps, ruling, read)
    // Another connection may have locked a table for long. It is not one that this transaction has changed.
    const lockable = await orRunAgain(() => lockTables(this.#db, [...tables.values()]))
    const { maxRecordBytes = defaultRecordBytes } = ruling.judge
    if (rowOps.length > 0) {
      await orRunAgain(() => orRefused(() => this.#checkLengths(lockable, maxRecordBytes)))
    }
    const rest = left.flatMap(({ op }) => (tables.has(op.t) ? [] : op))
    const locked = await this.#lock(rest)
    this.#locked = locked
    if (await this.#hasReadOther()) throw new RunAgain('changed')
    for (const { op } of rowOps) {
      const table = this.#tableOf(op)
      if (!lockable.includes(table)) throw tableIsLocked(table)
    }
    // Room for the transaction's own changes, which may be as many as fit, and for those of others.
    const changed = await orRunAgain(() => takeChanges(this.#db, lockable, { times: 2 }))
    if (!changed) throw new RunAgain('tooMany')
    await this.#refuseUnrecorded(rowOps, changed)
    const by = { caller: transaction?.caller, tx: transaction?.id }
    const rows = storedOf(changed, locked.position.head, at, { ...by, befores: this.#befores })
    const ruled = locked.tooLarge.size > 0 ? { judge: refuseTooLarge } : ruling
    const stamp = { at, ...(transaction && { tx: transaction.id }) }
    const remaining = { ops: rest, befores: locked.befores[0] ?? [] }
    const others = await draft(remaining, ruled, rows.head, stamp, read)
    const gone = others.records.filter(({ after }) => transaction && after === undefined)
    const goneKeys = new Set(gone.map(({ t, id }) => rowKey(t, id)))
    const entries = others.frames.map(({ owner, movedTo, frame }): Entry => {
      const { sid, t, id, op } = frame
      const removed = op === 'd' && goneKeys.has(rowKey(t, id)) ? 'stored' : undefined
      return { sid, owner, movedTo, t, id, ...by, last: sid === others.sid, frame, removed }
    })
    this.#stored = {
      head: others.sid,
      entries: [...rows.entries.map((entry) => ({ ...entry, last: entry.sid === others.sid })), ...entries],
      records: [...rows.records, ...others.records],
    }
    this.#own = rows.own + entries.length
    return { sid: others.sid, frames: [], records: [] }
  }

  /** Refuses a write if a row has changed and no trigger has recorded it: nobody would see the change. */
  async #refuseUnrecorded(rowOps: readonly RowOp[], changed: readonly ChangedRecord[]): Promise<void> {
    const recorded = new Set(changed.map(({ t, id }) => rowKey(t, id)))
    for (const { op } of rowOps) {
      const key = rowKey(op.t, op.id)
      if (recorded.has(key)) continue
      const now = await this.#readRow(this.#tableOf(op), op.id)
      const isSame = changesBetween(this.#befores.get(key), now?.owner === '' ? undefined : now).length === 0
      if (!isSame) throw new TypeUnavailable(op.t, 'Its triggers have not recorded a write.')
    }
  }

  async #applyToRows(rowOps: readonly RowOp[], ruling: Ruling, read: ReadRecord): Promise<void> {
    if (rowOps.length === 0) return
    const befores = await this.#lockRows(rowOps)
    const touched = new Set<string>()
    const copies = new Copies()
    for (const { op, index } of rowOps) {
      const table = this.#tableOf(op)
      const key = rowKey(op.t, op.id)
      const before = touched.has(key) ? await this.#readRow(table, op.id) : befores.row(op)
      touched.add(key)
      const stored: StoredRecord | undefined = before && { ...before, sid: 0 }
      const removed = this.#removedOf(op)
      const shown = stored ?? asStored(removed)
      const prepared = restored(ruling.prepare ? await ruling.prepare(op, shown, read) : op, removed)
      const { after, changes } = ruling.judge(stored, prepared, befores.changed(op), copies)
      if (changes.length === 0) continue
      if (removed) {
        const asCaller = <T>(run: () => Promise<T>) => this.#asCaller(op.t, index, run)
        const restoring = { op: prepared, index }
        await this.#refusing(op.t, { index }, () =>
          restoreRow(this.#db, table, restoring, after?.p ?? {}, asCaller),
        )
        continue
      }
      const outcome = { exists: before !== undefined, p: after?.p ?? {} }
      const isWritten = await this.#asCaller(op.t, index, () =>
        writeRow(this.#db, table, { op: prepared, index }, outcome),
      )
      if (!isWritten && this.#role) await this.#refuseHidden(table, { op: prepared, index }, before)
    }
    copies.checks.run()
    const [first] = rowOps
    await this.#asCaller(first?.op.t ?? '', undefined, () =>
      sql`set constraints all immediate`.execute(this.#db),
    )
  }

  /** Throws a WriteRejectedError if what the rows have become is too long. `tables` contains all that were changed. */
  async #checkLengths(tables: readonly MappedTable[], maxRecordBytes: number): Promise<void> {
    for (const { t, id } of await measureOwnChanges(this.#db, tables, maxRecordBytes)) {
      const table = this.#options.tables.get(t)
      const row = table && (await this.#readRow(table, id))
      const key = rowKey(t, id)
      const before = this.#befores.has(key) ? this.#befores.get(key) : await readRecord(this.#db, t, id)
      if (row) checkSize(maxRecordBytes, { t, id }, before?.p, row.p)
    }
  }

  /** As {@link #refusing}, under the role of the caller if there is one. */
  #asCaller<T>(t: string, index: number | undefined, run: () => Promise<T>): Promise<T> {
    const role = this.#role
    if (!role) return this.#refusing(t, { index }, run)
    return role.run(() => this.#refusing(t, { index, isOfCaller: true }, run))
  }

  /** Refuses an op that has written no row, unless a trigger has changed the record instead. */
  async #refuseHidden(
    table: MappedTable,
    { op, index }: RowOp,
    before: RecordState | undefined,
  ): Promise<void> {
    const now = await this.#readRow(table, op.id)
    if (changesBetween(before, now).length === 0) throw refuseHidden(index)
  }

  #tableOf({ t }: TxOp): MappedTable {
    const table = this.#options.tables.get(t)
    if (!table) throw new Error(`The type ${t} is not attached.`)
    return table
  }

  async #readRow(table: MappedTable, id: string): Promise<RecordState | undefined> {
    return (await readRows(this.#db, table, [id], false)).get(id)
  }

  /** Locks the rows of all ops, in the order of their ids, and reads what the conditions of the ops need. */
  async #lockRows(rowOps: readonly RowOp[]): Promise<Befores> {
    const rows = new Map<string, RecordState>()
    for (const [type, table] of this.#options.tables) {
      const own = rowOps.filter(({ op }) => op.t === type)
      for (const each of own) checkKey(table, each)
      const ids = own.map(({ op }) => op.id)
      const found = await this.#refusing(type, {}, () => readRows(this.#db, table, ids, true))
      for (const id of ids) {
        const row = found.get(id)
        if (row) rows.set(rowKey(type, id), row)
        // A row that belongs to nobody is no record.
        this.#befores.set(rowKey(type, id), row?.owner === '' ? undefined : row)
      }
    }
    const changed = await this.#changedSince(rowOps.map(({ op }) => op))
    return { row: ({ t, id }) => rows.get(rowKey(t, id)), changed }
  }

  /**
   * Whether the record of an op has changed since `unchangedSince`: in the history, or by a queued change. The rows are
   * locked, so they do not change meanwhile, but a queued change may be recorded. So the records are read before the
   * history: a change that they do not contain yet is still found by comparing with the row.
   */
  async #changedSince(ops: readonly TxOp[]): Promise<(op: TxOp) => boolean> {
    const conditional = ops.filter(({ unchangedSince }) => unchangedSince !== undefined)
    if (conditional.length === 0) return () => false
    const records = new Map<string, StoredRecord | undefined>()
    for (const { t, id } of conditional) records.set(rowKey(t, id), await readRecord(this.#db, t, id))
    const write: Write = { ...this.#write, ops: conditional }
    const asked = changeChecksOf([write])
    const { rows } = await sql<{ changes: readonly FoundChange[] | null; head: number; horizon: number }>`
      select (${changesOf(asked, [write])}) as changes, head::float8 as head, horizon::float8 as horizon
      from instep_state order by one desc limit 1`.execute(this.#db)
    const [state] = rows
    const found = changesFound(asked, state?.changes ?? [])
    return (op) => {
      const key = rowKey(op.t, op.id)
      const record = records.get(key)
      if (op.unchangedSince === undefined) return false
      if (op.unchangedSince > (state?.head ?? 0)) return true
      const happened = (since: number) => found(0, op, since)
      const waits = changesBetween(record, this.#befores.get(key)).length > 0
      return waits || hasChanged(op.unchangedSince, state?.horizon ?? 0, record, happened)
    }
  }

  async #lock(ops: readonly TxOp[]): Promise<Locked> {
    const { database, maxLogMs, beforeLock } = this.#options
    await beforeLock()
    await sql`select set_config('lock_timeout', ${String(maxLogMs)}, true)`.execute(this.#db)
    const { judge, transaction } = this.#write
    const write: Write = { ops, judge, ...(transaction && { transaction: { ...transaction, ops } }) }
    const locked = await lockAndRead(this.#db, database.history, [write])
    if (locked.position.history !== this.#options.history) throw new RunAgain('history')
    if (transaction && locked.verdictOn(transaction.caller, transaction.id)) throw new RunAgain('changed')
    return locked
  }

  /** Whether a record that the rules have read has changed since. */
  async #hasReadOther(): Promise<boolean> {
    const read = [...this.#read.values()]
    if (read.length === 0) return false
    const { rows } = await sql<{ changed: boolean }>`
      select exists (
        select from json_to_recordset(${JSON.stringify(read)}::json) as k(t text, id text, sid bigint)
        left join instep_record r on r.t = k.t and r.id = k.id where coalesce(r.sid, 0) <> k.sid
      ) as changed`.execute(this.#db)
    return rows[0]?.changed === true
  }

  /**
   * Runs a statement of an op on a record of the type `t`. Throws a WriteRejectedError if the database refuses it for
   * good, and TypeUnavailable if that is not because of the op.
   */
  async #refusing<T>(t: string, options: RefusalOptions, run: () => Promise<T>): Promise<T> {
    try {
      return await run()
    } catch (error) {
      const fault = tableFaultOf(error, options)
      if (fault !== undefined) throw new TypeUnavailable(t, fault)
      throw rejectionOf(error, options) ?? error
    }
  }
}

/** Runs a statement that reads queued changes. They may be of others, so a failure says nothing about the write. */
async function orRunAgain<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    const isUnreadable = isOfDatabase(error) || error instanceof ColumnsChanged
    throw isUnreadable ? new RunAgain('unreadable', { cause: error }) : error
  }
}

/** Runs a statement that reads what the transaction has changed. Its data are refused if they may be the reason of a failure. */
async function orRefused<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw (tableFaultOf(error) === undefined && rejectionOf(error)) || error
  }
}

/** A column cannot be removed: a field without a value is null. */
function withoutUnset(op: TxOp): TxOp {
  if (op.op !== 'u' || !op.unset) return op
  const { unset, ...rest } = op
  return { ...rest, p: { ...Object.fromEntries(unset.map((field) => [field, null])), ...op.p } }
}

type Locked = Awaited<ReturnType<typeof lockAndRead>>

interface Befores {
  readonly row: (op: TxOp) => RecordState | undefined
  readonly changed: (op: TxOp) => boolean
}
