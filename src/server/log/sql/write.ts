import { sql } from 'kysely'
import { rowKey } from '../../../protocol/fold.ts'
import type { Rejection } from '../../../protocol/tx.ts'
import type { StoredVerdict } from '../decide-on.ts'
import { hasChanged } from '../draft.ts'
import type { Position, ReadRecord, StoredRecord, WriteResult } from '../log.ts'
import { type ChangeCheck, changeChecksOf, changesFound, changesOf, type FoundChange } from './changes.ts'
import type { Db, SqlDatabase } from './database.ts'
import { Group, type GroupBefore, type GroupRules, type Outcome, type Write } from './group.ts'
import { type Int8, toNumber } from './int8.ts'
import { newestChange, newestVersion, type PositionRow, positionOf } from './position.ts'
import { readRecord } from './read.ts'
import {
  type FoundRecord,
  maxBytes,
  type ReadRecords,
  type RecordToRead,
  readRecords,
  recordsOf,
  recordsToRead,
  refuseTooLarge,
} from './records.ts'
import { isRestoring, readRemoved } from './removed.ts'

/*
 * Data goes into a statement as one JSON document. So the database parses it as JSON and refuses text that it cannot
 * store: otherwise half of a surrogate pair would be stored as another character. The text of a part of type `json`
 * stays as it is.
 */

/** A placeholder for the reason why a required transaction was rejected: nobody reads it. */
const unread: Rejection = { code: 'invalid', message: 'The transaction was rejected.' }

/** The outcome of each write that was decided, in order, and the changes of all. */
export interface GroupWriteResult {
  readonly outcomes: readonly Outcome[]
  readonly written: WriteResult
}

export interface WriteOptions {
  /** Needed for transactions with rules. */
  readonly runner?: GroupRules['runner']
  /** In ms since the epoch; the stored one counts if it is later. See {@link decideOn}. @default 0 */
  readonly verdictHorizon?: number
  /** Returns the reader of the records of a type that is attached, and `undefined` for other types. */
  readonly tableReader?: TableReader | undefined
}

/** See {@link WriteOptions.tableReader}. */
export type TableReader = (
  t: string,
) => ((db: Db, id: string) => Promise<StoredRecord | undefined>) | undefined

/**
 * Applies `writes` in the transaction of `db`, or only the first of them, if their records are too long together. Holds
 * the log's lock until the transaction ends, so nothing else should be done in it.
 */
export async function writeIn(
  db: Db,
  { notify, history, pageReads }: Pick<SqlDatabase, 'notify' | 'history' | 'pageReads'>,
  writes: readonly Write[],
  at: number,
  { runner, verdictHorizon = 0, tableReader }: WriteOptions = {},
): Promise<GroupWriteResult> {
  const { position, read, fitting, tooLarge, ...found } = await lockAndRead(db, history, writes, tableReader)
  const horizon = Math.max(verdictHorizon, found.verdictHorizon)
  const group = new Group({ ...position, ...found, verdictHorizon: horizon }, at, runner && { runner, read })
  const outcomes = await group.decide(
    writes.slice(0, fitting).map((write, w) => (tooLarge.has(w) ? refused(write) : write)),
  )
  await pageReads?.keep(db, group.records, group.head)
  if (group.entries.length > 0 || group.verdicts.length > 0) await store(db, notify, group, at)
  const changes = group.entries.map(({ sid, owner, movedTo, frame }) => {
    return { sid, owner, movedTo, frame: JSON.stringify(frame) }
  })
  return { outcomes, written: { ...position, head: group.head, after: position.head, changes } }
}

/**
 * `write`, to be rejected because its records are too long together. Its rules are not asked. No op has a `was`:
 * without the records, nothing would seem to be left.
 */
function refused({ ops, transaction }: Write): Write {
  return {
    ops: ops.map((op) => ({ ...op, was: undefined, restores: undefined })),
    judge: refuseTooLarge,
    ...(transaction && { transaction: { ...transaction, rules: undefined } }),
  }
}

interface FoundVerdict {
  readonly caller: string
  readonly id: string
  readonly digest: string
  readonly sid: number | null
  /** `null` also for the verdict on a transaction that is only required. */
  readonly error: Rejection | null
}

interface Found extends PositionRow {
  readonly verdictHorizon: Int8
  readonly stale: boolean
  readonly verdicts: readonly FoundVerdict[] | null
  readonly records: readonly FoundRecord[] | null
  readonly changes: readonly FoundChange[] | null
}

export type LockedState = Required<Pick<GroupBefore, 'befores' | 'verdictOn' | 'verdictHorizon'>> &
  Pick<ReadRecords, 'fitting' | 'tooLarge'> & { readonly position: Position; readonly read: ReadRecord }

/**
 * Takes the log's lock. Reads the records of all ops, the verdicts on the transactions, and the verdicts on the
 * transactions that they require.
 */
export async function lockAndRead(
  db: Db,
  history: SqlDatabase['history'],
  writes: readonly Write[],
  tableReader: TableReader = () => undefined,
): Promise<LockedState> {
  const wanted = recordsToRead(writes)
  const asked = changeChecksOf(writes)
  let found = await find(db, history, writes, wanted, asked)
  // The previous holder of the lock has written since this statement began. The second statement sees those writes, and
  // no other process can write now.
  if (found?.stale) found = await find(db, history, writes, wanted, asked)
  const kept = new Map<string, StoredVerdict>()
  for (const { caller, id, digest, sid, error } of found?.verdicts ?? []) {
    kept.set(rowKey(caller, id), { digest, verdict: sid === null ? { error: error ?? unread } : { sid } })
  }
  const loaded = await readRecords(db, writes, wanted, found?.records ?? [])
  const { records } = loaded
  // The removed records of one write may be as long as those of a group.
  const restoring = writes.findIndex((write, w) => w > 0 && isRestoring(write))
  const fitting = restoring < 0 ? loaded.fitting : Math.min(loaded.fitting, restoring)
  const removed = await readRemoved(db, writes[0])
  const tooLarge = removed ? loaded.tooLarge : new Set([0, ...loaded.tooLarge])
  const position = positionOf(found)
  const changed = changesFound(asked, found?.changes ?? [])
  const befores = writes.map(({ ops }, w) =>
    ops.map((op) => {
      const key = rowKey(op.t, op.id)
      const record = records.get(key)
      const happened = (since: number) => changed(w, op, since)
      const hasOtherVersion = hasChanged(op.unchangedSince, position.horizon, record, happened)
      return { record, changed: hasOtherVersion, removed: w === 0 ? removed?.get(key) : undefined }
    }),
  )
  const verdictHorizon = toNumber(found?.verdictHorizon ?? 0)
  const verdictOn = (caller: string, id: string) => kept.get(rowKey(caller, id))
  const read: ReadRecord = async (t, id) => {
    const table = tableReader(t)
    if (table) return table(db, id)
    const loaded = records.get(rowKey(t, id))
    return loaded?.whole ? loaded : readRecord(db, t, id)
  }
  return { position, befores, verdictOn, verdictHorizon, read, fitting, tooLarge }
}

/**
 * Uses one statement, since others wait for the lock; each part of the result is one document. The statement sees what
 * was committed before it began. If the locked row was written later, which its `xmin` reveals, the result is `stale`.
 * So every writer must also update that row in its transaction.
 */
async function find(
  db: Db,
  history: SqlDatabase['history'],
  writes: readonly Write[],
  wanted: readonly RecordToRead[],
  asked: readonly ChangeCheck[],
): Promise<Found | undefined> {
  const senders = writes.flatMap(({ transaction }) => transaction ?? [])
  const named = senders.flatMap(({ caller, id, requires }) => [
    { caller, id, own: true },
    ...requires.map((required) => ({ caller, id: required, own: false })),
  ])
  const { rows } = await sql<Found>`
    with state as materialized (
      select ${history} as history, head, horizon, xmin as writer, verdict_horizon from instep_state ${newestVersion} for update
    )
    select history, head, horizon, ${newestChange} as newest, verdict_horizon as "verdictHorizon", writer is distinct from (select xmin from instep_state ${newestVersion}) as stale, (
      select json_agg(json_build_object('caller', v.caller, 'id', v.id, 'digest', v.digest, 'sid', v.sid,
        'error', case when k.own then v.error end))
      from (
        select caller, id, bool_or(own) as own
        from json_to_recordset(${JSON.stringify(named)}::json) as n(caller text, id text, own boolean)
        group by caller, id
      ) k
      join instep_verdict v on v.caller = k.caller and v.id = k.id
    ) as verdicts, (${recordsOf(wanted)}) as records, (${changesOf(asked, writes)}) as changes
    from state`.execute(db)
  return rows[0]
}

/** The changes that one transaction of the database stores. */
export type GroupResult = Pick<Group, 'head' | 'entries' | 'records' | 'verdicts'>

/**
 * The fields of removed records, for an undo. If the stored records of one transaction are very long together, the rest
 * is not kept.
 */
const removedFields = sql`coalesce(removed, case when sum(pg_column_size(stored))
  over (partition by caller, tx order by sid) <= ${sql.lit(maxBytes)} then stored end)`

/** Stores the result of a group in one statement. Must run under the log's lock. */
export async function store(
  db: Db,
  notify: SqlDatabase['notify'],
  group: GroupResult,
  at: number,
): Promise<void> {
  const { head, entries, records } = group
  const kept = records.flatMap(({ t, id, after }) => (after ? { t, id, ...after } : []))
  const gone = records.filter(({ after }) => after === undefined)
  const logged = entries.map((entry) => ({
    ...entry,
    removed: entry.removed === 'stored' ? undefined : entry.removed,
    removes: entry.removed === 'stored',
  }))
  const judged = group.verdicts.map(({ verdict, ...rest }) => ({ ...rest, ...verdict }))
  const removed =
    gone.length === 0
      ? sql``
      : sql`, gone as (
      delete from instep_record r using json_to_recordset(${JSON.stringify(gone)}::json) as g(t text, id text)
      where r.t = g.t and r.id = g.id
    )`
  await sql`
    with logged as (
      insert into instep_log (sid, owner, moved_to, t, id, caller, tx, at, last, frame, removed)
      select sid, owner, "movedTo", t, id, caller, tx, ${at}::bigint, last, frame, ${removedFields} from (
        select e.*, case when removes then (select p from instep_record r where r.t = e.t and r.id = e.id) end as stored
        from json_to_recordset(${JSON.stringify(logged)}::json)
          as e(sid bigint, owner text, "movedTo" text, t text, id text, caller text, tx text, last boolean, frame json, removed json, removes boolean)
      ) e
    ), kept as (
      insert into instep_record (t, id, owner, sid, p)
      select t, id, owner, sid, p from json_to_recordset(${JSON.stringify(kept)}::json)
        as k(t text, id text, owner text, sid bigint, p json)
      on conflict (t, id) do update set owner = excluded.owner, sid = excluded.sid, p = excluded.p
    )${removed}, judged as (
      insert into instep_verdict (caller, id, digest, at, sid, error)
      select caller, id, digest, ${at}::bigint, sid, error from json_to_recordset(${JSON.stringify(judged)}::json)
        as v(caller text, id text, digest text, sid bigint, error json)
    )
    update instep_state set head = ${head} where ctid = (select ctid from instep_state ${newestVersion})
    returning ${entries.length > 0 ? notify : sql`1`}`.execute(db)
}
