import { sql } from 'kysely'
import type { Payload } from '../../../protocol/json.ts'
import { isStorable } from '../../../protocol/json-copy.ts'
import type { ListedRecord, RecordKey, RecordPage } from '../log.ts'
import type { Db } from './database.ts'
import { isForgotten } from './forgotten.ts'
import { type Int8, toNumber } from './int8.ts'

/** The stored length in bytes after which a page has no more records: they are all in memory at once. */
const pageBytes = 1_048_576

/** The maximum number of rows that one statement changes or deletes, so that no other statement waits for long. */
const maxForgotten = 10_000

/** See {@link Log.list}. */
export async function readPage(
  db: Db,
  { t, owner, after, limit }: RecordPage,
): Promise<readonly ListedRecord[]> {
  if (![t, owner ?? '', after].every(isStorable)) return []
  const ofOwner = owner === undefined ? sql`` : sql`and owner = ${owner}`
  const { rows } = await sql<{ id: string; owner: string; sid: Int8; p: Payload }>`
    select id, owner, sid, p from (
      select *, coalesce(sum(pg_column_size(p))
        over (order by id rows between unbounded preceding and 1 preceding), 0) as bytes
      from (
        select id, owner, sid, p from instep_record
        where t = ${t} and id > ${after} ${ofOwner} order by id limit ${sql.lit(limit)}
      ) as page
    ) as sized
    where bytes < ${sql.lit(pageBytes)} order by id`.execute(db)
  return rows.map(({ sid, ...record }) => ({ ...record, sid: toNumber(sid) }))
}

/** See {@link Log.owners}. Skips from one owner to the next in the index, however many records each has. */
export async function readOwners(db: Db, after: string, limit: number): Promise<readonly string[]> {
  if (!isStorable(after)) return []
  const { rows } = await sql<{ owner: string }>`
    with recursive found as (
      (select owner from instep_record where owner > ${after} order by owner limit 1)
      union all
      select (select owner from instep_record r where r.owner > f.owner order by owner limit 1)
      from found f where f.owner is not null
    )
    select owner from found where owner is not null limit ${sql.lit(limit)}`.execute(db)
  return rows.map(({ owner }) => owner)
}

/** See {@link Log.keysOf}. */
export async function readKeys(db: Db, owner: string, limit: number): Promise<readonly RecordKey[]> {
  if (!isStorable(owner)) return []
  const { rows } = await sql<RecordKey>`
    select t, id from instep_record where owner = ${owner} order by sid limit ${sql.lit(limit)}`.execute(db)
  return rows
}

/** See {@link Log.forget}. */
export async function forgetIn(db: Db, owner: string, caller: string | undefined): Promise<boolean> {
  if (!isStorable(owner)) return true
  // One statement, and so one snapshot: without records, all changes up to this head end in removals.
  const { rows } = await sql<{ head: Int8 }>`
    select head from instep_state where not exists (select from instep_record where owner = ${owner})`.execute(
    db,
  )
  const [state] = rows
  if (!state) return false
  // From the last to the first, so that a read in between finds no update of a record that is forgotten already.
  for (let before = toNumber(state.head) + 1; ; ) {
    const { rows: forgotten } = await sql<{ sid: Int8 }>`
      with part as (
        select sid from instep_log where owner = ${owner} and sid < ${before}
        order by sid desc limit ${sql.lit(maxForgotten)}
      ), forgotten as (
        update instep_log l set removed = null,
          frame = case when l.frame->>'op' = 'd' then l.frame else json_build_object('op', l.frame->>'op') end
        from part where l.sid = part.sid
          and (l.removed is not null or l.frame->>'op' <> 'd' and not ${isForgotten})
      )
      select min(sid) as sid from part having count(*) > 0`.execute(db)
    const [first] = forgotten
    if (!first) break
    before = toNumber(first.sid)
  }
  for (let deleted = maxForgotten; caller !== undefined && isStorable(caller) && deleted === maxForgotten; ) {
    const { rows: gone } = await sql`
      delete from instep_verdict where ctid = any (array(
        select ctid from instep_verdict where caller = ${caller} limit ${sql.lit(maxForgotten)} for update skip locked
      )) returning 1`.execute(db)
    deleted = gone.length
  }
  return true
}
