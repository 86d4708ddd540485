import { type RawBuilder, sql } from 'kysely'
import type { Payload } from '../../../protocol/json.ts'
import { isStorable, isStorableName } from '../../../protocol/json-copy.ts'
import type { Changes, Position, StoredRecord } from '../log.ts'
import { end, type Item, SqlCursor } from './cursor.ts'
import type { Db, SqlDatabase } from './database.ts'
import { isForgotten, removalText } from './forgotten.ts'
import { type Int8, toNumber } from './int8.ts'
import type { ItemsAfter, PageRead, PageReads } from './page-reads.ts'
import { newestChange, newestVersion, onlyRow, type PositionRow, positionOf } from './position.ts'
import type { SlowDeltas, Watch } from './slow-deltas.ts'

/** The length in bytes after which `readChanges` reads no more changes: they are all in memory at once. */
const changesBytes = 1_048_576

/** A read, whose parts are all of one snapshot. */
export interface OpenRead {
  readonly position: Position
  /** The number of records in a snapshot; 0 for a delta. */
  readonly count: number
  /** See {@link Delta}. */
  readonly isTooMany?: boolean | undefined
  readonly cursor: SqlCursor
}

/** The head after the last changes that made no frames because there were too many at once. */
async function readBulk(db: Db): Promise<number> {
  const { rows } = await sql<{ bulk: Int8 }>`select bulk from instep_state ${newestVersion}`.execute(db)
  return toNumber(onlyRow(rows).bulk)
}

export async function readPosition(db: Db, { history }: Pick<SqlDatabase, 'history'>): Promise<Position> {
  const { rows } = await sql<PositionRow>`
    select ${history} as history, head, horizon, ${newestChange} as newest from instep_state ${newestVersion}`.execute(
    db,
  )
  return positionOf(rows[0])
}

/** The owner field for which the database is claimed, or `null`. */
export async function readOwnerField(db: Db): Promise<string | null> {
  const { rows } = await sql<{ field: string | null }>`select owner_field as field from instep_state`.execute(
    db,
  )
  return onlyRow(rows).field
}

/** See {@link Log.read}. A type or id that no database can store has no record. */
export async function readRecord(db: Db, t: string, id: string): Promise<StoredRecord | undefined> {
  if (!isStorableName(t) || !isStorableName(id)) return undefined
  const { rows } = await sql<{ owner: string; sid: Int8; p: Payload }>`
    select owner, sid, p from instep_record where t = ${t} and id = ${id}`.execute(db)
  const [row] = rows
  return row && { owner: row.owner, sid: toNumber(row.sid), p: row.p }
}

/** A delta has more changes than it may have now. */
export class IsLong extends Error {}

export interface DeltaOptions {
  readonly slow: SlowDeltas
  /** The maximum number of changes. Not checked for reads in pages, between which others come. */
  readonly most: number
}

/** Whether `owners` have more than `count` records. */
export async function hasMoreThan(db: Db, owners: readonly string[], count: number): Promise<boolean> {
  const { rows } = await sql`
    select from instep_record where owner = any(${stored(owners)}) limit 1 offset ${sql.lit(count)}`.execute(
    db,
  )
  return rows.length > 0
}

/**
 * Whether a snapshot of `owners` at `position` is as good as a new one: it holds all their changes, and changes can be
 * read from there.
 */
export async function isCurrent(
  db: Db,
  { history }: Pick<SqlDatabase, 'history'>,
  owners: readonly string[],
  position: Position,
): Promise<boolean> {
  const { rows } = await sql<{ isCurrent: boolean }>`
    select ${history} = ${position.history} and horizon <= ${position.head}::bigint and not exists (
      select from instep_log where owner = any(${stored(owners)}) and sid > ${position.head}::bigint
    ) as "isCurrent" from instep_state ${newestVersion}`.execute(db)
  return rows[0]?.isCurrent === true
}

/** The records of `owners`, in the order of their last changes for each owner. */
export async function openSnapshot(database: SqlDatabase, owners: readonly string[]): Promise<OpenRead> {
  const own = stored(owners)
  const { pageReads, readers } = database
  if (!pageReads) {
    return inSnapshot(readers, async (trx) => {
      const position = await readPosition(trx, database)
      const { rows } = await sql<{ count: Int8 }>`
        select count(*) as count from instep_record where owner = any(${own})`.execute(trx)
      const items = sql<Item>`
        select r.sid, r.item from unnest(${own}) as o(owner) cross join lateral (
          select sid, ${rowText} as item from instep_record where owner = o.owner order by sid
        ) r`
      return { position, count: toNumber(rows[0]?.count ?? 0), items }
    })
  }
  return inPages(
    readers,
    pageReads,
    async (trx) => {
      const position = await readPosition(trx, database)
      const till = position.head
      const items: ItemsAfter = (after, limit) => sql`
      select sid, ${rowText} as item from (
        select r.* from unnest(${own}) as o(owner) cross join lateral (
          (select t, id, sid, p from instep_record
            where owner = o.owner and sid > ${after} and sid <= ${till} order by sid limit ${limit})
          union all
          (select t, id, sid, p from instep_kept
            where owner = o.owner and sid > ${after} and sid <= ${till} and until > ${till}
            order by sid limit ${limit})
        ) r
      ) r order by sid limit ${limit}`
      return { position, items, read: await pageReads.begin(trx, till) }
    },
    (read) => pageReads.count(readers, read, owners.filter(isStorable)),
  )
}

/**
 * The frames that `owners` receive after `since`; none if the horizon has passed `since`, or if a delta from there has
 * taken too long before, as `slow` knows. Throws {@link IsLong} if they are more than `most`.
 */
export async function openDelta(
  database: SqlDatabase,
  owners: readonly string[],
  since: number,
  { slow, most }: DeltaOptions,
): Promise<OpenRead> {
  const open = async (db: Db) => {
    const position = await readPosition(db, database)
    const isLost = since < position.horizon
    const isTooMany = slow.has(since) || (isLost && since < (await readBulk(db)))
    const from = isTooMany || isLost ? position.head : since
    return { position, from, isTooMany }
  }
  const { pageReads, deltas } = database
  if (!pageReads) {
    return inSnapshot(deltas, async (trx) => {
      const { from, ...opened } = await open(trx)
      const till = opened.position.head
      if (till - from > most && (await hasMoreChanges(trx, owners, from, most))) throw new IsLong()
      return { ...opened, count: 0, items: framesOf(owners, from, till), watch: slow.watch(since, till) }
    })
  }
  return inPages(deltas, pageReads, async (trx) => {
    const { from, ...opened } = await open(trx)
    const till = opened.position.head
    const items: ItemsAfter = (after, limit) => framesOf(owners, after, till, limit)
    return { ...opened, items, read: await pageReads.begin(trx, till, from), watch: slow.watch(since, till) }
  })
}

/** Whether `owners` have more than `count` changes after `from`. */
async function hasMoreChanges(
  db: Db,
  owners: readonly string[],
  from: number,
  count: number,
): Promise<boolean> {
  const { rows } = await sql`
    select from instep_log where owner = any(${stored(owners)}) and sid > ${from}
    limit 1 offset ${sql.lit(count)}`.execute(db)
  return rows.length > 0
}

/**
 * The frames that `owners` receive after `from` up to `till`, by one scan of the index for each owner. For
 * `owner = any(…) order by sid`, the planner would read the whole log in the order of `sid`, since a cursor wants its
 * first rows quickly.
 */
function framesOf(owners: readonly string[], from: number, till: number, limit?: number): RawBuilder<Item> {
  const own = stored(owners)
  const limited = limit === undefined ? sql`` : sql`limit ${limit}`
  // The index returns the changes of one owner in order. With `= any(…)`, the planner may sort all that is left for
  // each page.
  if (owners.length === 1) {
    return sql`
      select sid, ${frameText} as item from instep_log l cross join lateral (select ${isNewest(till)} as is_current) c
      where owner = (${own})[1] and sid > ${from} and sid <= ${till} and (is_current or tx is not null)
      order by sid ${limited}`
  }
  return sql`
    select f.sid, f.item from unnest(${own}) as o(owner) cross join lateral (
      select sid, ${frameText} as item from instep_log l cross join lateral (select ${isNewest(till)} as is_current) c
      where owner = o.owner and sid > ${from} and sid <= ${till} and (is_current or tx is not null)
        and (moved_to is null or moved_to <> all(${own}))
      order by sid ${limited}
    ) f order by f.sid ${limited}`
}

/** A frame as JSON text. An obsolete change becomes a removal: its `tx` says that the data contains the transaction. */
const frameText = sql<string>`case when is_current and not ${isForgotten} then frame::text else ${removalText} end`

/** A record as a wire row. */
const rowText = sql<string>`'{"t":' || to_json(t) || ',"id":' || to_json(id) || ',"v":' || sid || ',"p":' || p || '}'`

/**
 * Whether no later change up to `till` removes or replaces the record of the change `l` for its owner: otherwise nobody
 * who asks later may see the change. Uses the index `instep_log_whole`, once for each change. Concatenated, the owner
 * fits no index: without statistics, the planner might read all later changes of the owner for each change.
 */
function isNewest(till: number): RawBuilder<boolean> {
  return sql`(
    select 1 from instep_log w where w.t = l.t and w.id = l.id and w.owner || '' = l.owner and w.sid > l.sid
      and w.sid <= ${till} and w.frame->>'op' <> 'u' limit 1
  ) is null`
}

/** See {@link Log.changes}. Uses one statement, and so one snapshot. */
export async function readChanges(
  { followers, history }: SqlDatabase,
  after: number,
  limit: number,
): Promise<Changes> {
  const { rows } = await sql<ChangeRow>`
    with reach as (
      select ${history} as history, head, horizon, ${newestChange} as newest, coalesce(
        (select sid from instep_log where last and sid >= ${after + limit}::bigint order by sid limit 1), head
      ) as most
      from instep_state ${newestVersion}
    ), part as materialized (
      select history, head, horizon, newest, coalesce((
        select sid from (
          select sid, last, sum(octet_length(frame::text)) over (order by sid) as bytes
          from instep_log where sid > greatest(${after}, horizon) and sid <= most
        ) as ahead
        where last and bytes >= ${sql.lit(changesBytes)} order by sid limit 1
      ), most) as till
      from reach
    )
    select part.*, l.sid, l.owner, l.moved_to as "movedTo", l.frame, l."isForgotten"
    from part left join lateral (
      select sid, owner, moved_to, ${isForgotten} as "isForgotten",
        case when ${isForgotten} then ${removalText} else frame::text end as frame
      from instep_log where sid > greatest(${after}, horizon) and sid <= till
    ) l on true
    order by l.sid`.execute(followers)
  const changes = rows.flatMap(({ sid, owner, movedTo, frame, isForgotten }) =>
    sid === null ? [] : [{ sid: toNumber(sid), owner, movedTo: movedTo ?? undefined, frame, isForgotten }],
  )
  return { ...positionOf(rows[0]), sid: toNumber(rows[0]?.till ?? 0), changes }
}

interface ChangeRow extends PositionRow {
  readonly till: Int8
  /** `null` if there is no change. */
  readonly sid: Int8 | null
  readonly owner: string
  readonly movedTo: string | null
  readonly frame: string
  readonly isForgotten: boolean
}

/** The statement for a cursor, and the values that belong to it. */
interface Opening {
  readonly position: Position
  readonly count: number
  readonly isTooMany?: boolean
  readonly items: RawBuilder<Item>
  readonly watch?: Watch
}

/**
 * Runs `open` in a snapshot. Fetches the first batch at once, so that a short response, as most are, holds no
 * connection while it is sent.
 */
async function inSnapshot(db: Db, open: (trx: Db) => Promise<Opening>): Promise<OpenRead> {
  const trx = await db
    .startTransaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute()
  try {
    const { position, count, isTooMany, items, watch } = await open(trx)
    const cursor = await SqlCursor.open(trx, items, watch)
    return { position, count, isTooMany, cursor }
  } catch (error) {
    await end(trx)
    throw error
  }
}

/** A read in pages, and the statement for its items. */
interface PagedOpening {
  readonly position: Position
  readonly isTooMany?: boolean
  readonly read: PageRead
  readonly items: ItemsAfter
  readonly watch?: Watch
}

/** Runs `open` in a transaction, counts the items with `countOf`, and then reads their pages. */
async function inPages(
  db: Db,
  pageReads: PageReads,
  open: (trx: Db) => Promise<PagedOpening>,
  countOf: (read: PageRead) => Promise<number> = async () => 0,
): Promise<OpenRead> {
  const begun: PageRead[] = []
  try {
    const { position, isTooMany, read, items, watch } = await db.transaction().execute(async (trx) => {
      const opened = await open(trx)
      begun.push(opened.read)
      return opened
    })
    const count = await countOf(read)
    return { position, count, isTooMany, cursor: await pageReads.cursor(db, read, items, watch) }
  } catch (error) {
    for (const undone of begun) pageReads.undo(undone)
    throw error
  }
}

/**
 * `owners` as a parameter, without those that no database can store, and who therefore own nothing: on the way to the
 * database, the text could turn into the name of another owner.
 */
function stored(owners: readonly string[]): RawBuilder<readonly string[]> {
  return sql`${owners.filter(isStorable)}::text[]`
}
