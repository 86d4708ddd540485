import { sql } from 'kysely'
import { NetworkError } from '../../base/errors.ts'
import { rowKey } from '../../protocol/fold.ts'
import type { Payload } from '../../protocol/json.ts'
import type { StoredRecord } from '../log/log.ts'
import type { Db } from '../log/sql/database.ts'
import type { Entry } from '../log/sql/group.ts'
import { type Int8, toNumber } from '../log/sql/int8.ts'
import type { GroupResult } from '../log/sql/write.ts'
import { type Aside, setAside } from './aside.ts'
import { changesBetween, type RecordState } from './compare.ts'
import { ColumnsChanged, haveTypes, type MappedTable } from './inspect.ts'
import { type BadRow, exceptBad } from './probe-rows.ts'
import { literal } from './quote.ts'
import { hasKey, recordsIn } from './rows.ts'

/**
 * The maximum number of changes that become frames at once, and the maximum length of their records before and after,
 * in bytes. With more, clients fetch a snapshot instead.
 */
export const maxKeys = 10_000
export const maxBytes = 16 * 1_048_576

/** A changed row: its key, its record in the log (`was`), and the record that the row makes now (`is`). */
export interface ChangedRecord {
  readonly t: string
  readonly id: string
  readonly was: RecordState | undefined
  readonly is: RecordState | undefined
}

interface FoundRow {
  readonly fits: boolean
  /** `null`: nothing was found. */
  readonly t: string | null
  readonly id: string
  readonly wasOwner: string | null
  readonly was: Payload | null
  readonly owner: string | null
  readonly p: Payload | null
  readonly isSmall: boolean
}

/** The types of `tables` with queued changes, and approximately how many. */
export async function waitingTypes(
  db: Db,
  tables: readonly MappedTable[],
): Promise<ReadonlyMap<string, { readonly keys: number }>> {
  const types = tables.map(({ mapping }) => mapping.type)
  const { rows } = await sql<{ t: string; keys: Int8; records: Int8 }>`
    select c.t, count(distinct k.id) as keys, case when bool_or(c.ids is null) then (
      select count(*) from (select from instep_record r where r.t = c.t limit ${sql.lit(maxKeys + 1)}) n
    ) else 0 end as records
    from instep_change c left join lateral unnest(c.ids) as k(id) on true
    where c.t = any(${types}::text[]) group by c.t`.execute(db)
  return new Map(rows.map(({ t, keys, records }) => [t, { keys: toNumber(keys) + toNumber(records) }]))
}

/**
 * Locks `tables` against a change of their columns, without waiting, and returns the tables that it could lock. Until
 * the transaction ends, reading these tables waits for nobody.
 */
export async function lockTables(db: Db, tables: readonly MappedTable[]): Promise<readonly MappedTable[]> {
  const relations = tables.map(({ relation }) => relation)
  const { rows } = await sql<{ locked: boolean }>`
    select instep_lock(r) as locked from unnest(${relations}::text[]) with ordinality as t(r, n) order by n`.execute(
    db,
  )
  return tables.filter((_, index) => rows[index]?.locked)
}

/** The error if {@link lockTables} could not lock a table. */
export function tableIsLocked({ relation }: MappedTable): NetworkError {
  const message = `Another connection has locked the table ${relation}, as ALTER TABLE does. Try again.`
  return new NetworkError('timeout', message)
}

/**
 * Removes the queued changes, and reads the records and rows of their keys, in one statement and so at one moment. A
 * change that is not visible yet stays in the queue; its row is not visible yet, either. Resolves with `undefined` if
 * there are too many changes, or if they are too long together: then roll the transaction back. `times`: how many times
 * as many as usual are not too many. Sets rows aside that cannot be records, and those of `bad`, which belong to a single
 * table. Must run under the log's lock. Rejects with {@link ColumnsChanged}.
 */
export async function takeChanges(
  db: Db,
  tables: readonly MappedTable[],
  { times = 1, bad = [] }: { readonly times?: number; readonly bad?: readonly BadRow[] } = {},
): Promise<readonly ChangedRecord[] | undefined> {
  if (tables.length === 0) return []
  // Reads by key rather than by joins: the planner does not know how many keys there are.
  const states = tables.map((table) => {
    const lateral = recordsIn(table, `${hasKey(table, 'c', 'k.id')} and ${exceptBad(table, bad)}`)
    return `select k.t, k.id, x.owner, x.p, x.aside from instep_keys k left join lateral (${lateral}) x
      on x.owner is not null or x.aside is not null where k.t = ${literal(table.mapping.type)}`
  })
  const { rows } = await sql<FoundRow>`
    with ${sql.raw(keysOf(tables))}, instep_states as materialized (${sql.raw(states.join(' union all '))}), ${sql.raw(asideOf)},
    found as (
      select s.t, s.id, r.owner as was_owner, r.p as was, s.owner, s.p,
        count(*) over () <= ${sql.lit(times * maxKeys)} and sum(coalesce(octet_length(s.p::text), 0)
          + coalesce(octet_length(r.p::text), 0)) over () <= ${sql.lit(times * maxBytes)} as is_small
      from instep_states s
      left join lateral (select owner, p from instep_record r where r.t = s.t and r.id = s.id offset 0) r on true
    )
    select fits, t, id, was_owner as "wasOwner", owner, is_small as "isSmall",
      case when is_small then was end as was, case when is_small then p end as p
    from instep_fits left join found on is_small or (t, id) = (select t, id from found limit 1) order by t, id`.execute(
    db,
  )
  if (rows[0]?.fits !== true) throw new ColumnsChanged()
  if (rows[0].isSmall === false) return undefined
  await setAside(db, badAsides(tables, bad))
  return rows.flatMap(({ t, id, wasOwner, was, owner, p }) => {
    return t === null ? [] : { t, id, was: stateOf(wasOwner, was), is: stateOf(owner, p) }
  })
}

/** What {@link setAside} takes for `bad` rows of a single table. */
export function badAsides([table]: readonly MappedTable[], bad: readonly BadRow[]): readonly Aside[] {
  return bad.map(({ id, reason }) => ({ t: table?.mapping.type ?? '', kind: 'row', id, reason }))
}

/**
 * The parts of a `with` that set rows of `instep_states` aside, and take back the others of `instep_keys`, which may be
 * gone. What is found is materialized: otherwise each part would read the rows again.
 */
export const asideOf = `
    instep_back as (
      delete from instep_aside a using instep_keys k where a.t = k.t and a.kind = 'row' and a.id = k.id
        and not exists (select from instep_states s where s.t = a.t and s.id = a.id and s.aside is not null)
    ), instep_put as (
      insert into instep_aside (t, kind, id, reason, due)
      select t, 'row', id, aside, now() from instep_states where aside is not null
      on conflict (t, kind, id) do update set reason = excluded.reason
    )`

function stateOf(owner: string | null, p: Payload | null): RecordState | undefined {
  return owner === null ? undefined : { owner, p: p ?? {} }
}

/**
 * The parts of a `with` that remove the queued changes of `tables`, and list their keys as `instep_keys`; none if
 * `instep_fits` is false, so that no row is read by the type that its column had before. The keys have the default
 * collation, which yields to the collation of a column; with another one, the index of the column could not be used. The
 * types of which all keys have changed are one array, which is computed once: otherwise, the planner might search all
 * changes for each record. If there is none, which is usual, no record is read: a planner that expects some might read
 * all records.
 */
export function keysOf(tables: readonly MappedTable[]): string {
  const types = tables.map(({ mapping }) => literal(mapping.type)).join()
  return `
    instep_fits as materialized (select ${haveTypes(tables)} as fits),
    instep_gone as (
      delete from instep_change where t in (${types}) and (select fits from instep_fits) returning t, ids
    ),
    instep_keys as (
      select g.t, k.id from instep_gone g cross join lateral unnest(g.ids) as k(id)
      union
      select r.t, r.id collate "default" from instep_record r
      where exists (select from instep_gone where ids is null)
        and r.t = any(array(select t from instep_gone where ids is null))
      union
      select a.t, a.id collate "default" from instep_aside a
      where a.kind = 'row' and a.t = any(array(select t from instep_gone where ids is null))
    )`
}

/** The records that a client's transaction has changed itself, as they were when it locked their rows. */
export interface OwnChanges {
  readonly caller: string | undefined
  readonly tx: string | undefined
  readonly befores: ReadonlyMap<string, RecordState | undefined>
}

/**
 * Returns the frames and records of changes, after the position `head`. Changes of others come first, even if the
 * transaction of `own` has changed the same records after them; then its own, which carry its `tx`. `own` in the
 * result: the number of its own changes.
 */
export function storedOf(
  changed: readonly ChangedRecord[],
  head: number,
  at: number,
  own?: OwnChanges,
): Omit<GroupResult, 'verdicts'> & { readonly own: number } {
  const entries: Entry[] = []
  const records = new Map<string, GroupResult['records'][number]>()
  let sid = head
  const add = (
    { t, id }: Pick<ChangedRecord, 't' | 'id'>,
    before: RecordState | undefined,
    after: RecordState | undefined,
    by?: OwnChanges,
  ) => {
    for (const { owner, movedTo, change } of changesBetween(before, after)) {
      sid += 1
      const { caller, tx } = by ?? {}
      const frame = { sid, t, id, ...change, at, ...(tx !== undefined && { tx }) }
      const removed = tx === undefined || after ? undefined : before?.p
      entries.push({ sid, owner, movedTo, t, id, caller, tx, last: false, frame, removed })
      const record: StoredRecord | undefined = after && { ...after, sid }
      records.set(rowKey(t, id), { t, id, after: record })
    }
  }
  const befores = own?.befores ?? new Map<string, RecordState | undefined>()
  for (const record of changed) {
    const key = rowKey(record.t, record.id)
    add(record, record.was, befores.has(key) ? befores.get(key) : record.is)
  }
  const others = entries.length
  for (const record of changed) {
    const key = rowKey(record.t, record.id)
    if (befores.has(key)) add(record, befores.get(key), record.is, own)
  }
  return {
    head: sid,
    entries: entries.map((entry) => ({ ...entry, last: entry.sid === sid })),
    records: [...records.values()],
    own: entries.length - others,
  }
}
