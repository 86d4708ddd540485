import { sql } from 'kysely'
import { maxClockSkewMs, type Retention, verdictHorizonOf } from '../retention.ts'
import type { Db } from './database.ts'
import { type Int8, toNumber } from './int8.ts'

/**
 * The maximum number of changes that one statement examines, so that it ends soon, however many changes may be
 * forgotten.
 */
const maxExamined = 100_000

/** The maximum number of verdicts that one statement deletes, so that no other statement waits for long. */
const maxDeleted = 10_000

/**
 * The age of a verdict: the time of the verdict or the time in its id, whichever is later. `null` if the id contains no
 * time. The index `instep_verdict_age` uses exactly this expression, and contains only verdicts with an age.
 */
export const verdictTime = sql`(case
  when id ~ '^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-7[0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}$'
  then greatest(at, ('x' || substr(id, 1, 8) || substr(id, 10, 4))::bit(48)::bigint) end)`

/**
 * A `sid` up to which the history may be forgotten; 0 if nothing may be forgotten. Afterwards, a second call may return
 * a higher one.
 */
export async function forgettable(
  db: Db,
  { maxAgeMs = Number.POSITIVE_INFINITY, maxChanges = Number.POSITIVE_INFINITY }: Retention,
  now: number,
): Promise<number> {
  if (Math.min(maxAgeMs, maxChanges) === Number.POSITIVE_INFINITY) return 0
  const oldest = sql`(select sid, at from instep_log order by sid limit ${sql.lit(maxExamined)}) as oldest`
  const { rows } = await sql<{ head: Int8; old: Int8 }>`
    select head, coalesce(
      (select sid - 1 from ${oldest} where at >= ${Math.floor(Math.max(0, now - maxAgeMs))} order by sid limit 1),
      (select max(sid) from ${oldest}),
      head
    ) as old
    from instep_state`.execute(db)
  const [row] = rows
  if (!row) return 0
  return Math.max(0, toNumber(row.old), toNumber(row.head) - Math.floor(maxChanges))
}

/**
 * Deletes the verdicts that may be forgotten. The same transaction stores up to which time verdicts are deleted. So no
 * process, whatever its own retention, takes an old transaction for a new one.
 */
export async function forgetVerdicts(db: Db, retention: Retention, now: number): Promise<void> {
  if (retention.maxVerdictAgeMs === undefined) return
  const before = verdictHorizonOf(retention, now) - maxClockSkewMs
  for (let forgotten = maxDeleted; forgotten === maxDeleted; ) {
    const { rows } = await sql<{ count: Int8 }>`
      with gone as (
        delete from instep_verdict where ctid = any (array(
          select ctid from instep_verdict where ${verdictTime} < ${before}::bigint
          order by ${verdictTime} limit ${sql.lit(maxDeleted)} for update skip locked
        )) returning at, id
      ), counted as (
        select count(*) as count, max(${verdictTime}) as newest from gone
      )
      update instep_state set verdict_horizon = greatest(verdict_horizon, newest + 1) from counted where count > 0
      returning count`.execute(db)
    forgotten = toNumber(rows[0]?.count ?? 0)
  }
}
