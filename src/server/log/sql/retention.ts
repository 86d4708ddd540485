import { sql } from 'kysely'
import { type Retention, slackMs, verdictHorizonOf } from '../retention.ts'
import type { Db } from './database.ts'
import { type Int8, toNumber } from './int8.ts'

/** How many changes are looked at in one go, so that it ends in time, however many may be forgotten. */
const lookedAtOnce = 100_000

/** How many verdicts are forgotten in one go, so that no other statement waits for long. */
const forgottenAtOnce = 10_000

/**
 * The later one of when a verdict was given and when its id was made; `null` where that tells no time. An index is made of
 * this very expression, and holds no other verdict.
 */
export const agesFrom = sql`(case
  when id ~ '^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-7[0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}$'
  then greatest(at, ('x' || substr(id, 1, 8) || substr(id, 10, 4))::bit(48)::bigint) end)`

/** A `sid` up to which the history may be forgotten, and once it is, perhaps further; 0 where nothing may. */
export async function forgettable(
  db: Db,
  { maxAgeMs = Number.POSITIVE_INFINITY, maxChanges = Number.POSITIVE_INFINITY }: Retention,
  now: number,
): Promise<number> {
  if (Math.min(maxAgeMs, maxChanges) === Number.POSITIVE_INFINITY) return 0
  const oldest = sql`(select sid, at from instep_log order by sid limit ${sql.lit(lookedAtOnce)}) as oldest`
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
 * Forgets the verdicts that may be. In the same transaction the state comes to say up to when that is, so that nobody takes
 * their transactions for new, whatever they are told to keep.
 */
export async function forgetVerdicts(db: Db, retention: Retention, now: number): Promise<void> {
  if (retention.maxVerdictAgeMs === undefined) return
  const before = verdictHorizonOf(retention, now) - slackMs
  for (let forgotten = forgottenAtOnce; forgotten === forgottenAtOnce; ) {
    const { rows } = await sql<{ count: Int8 }>`
      with gone as (
        delete from instep_verdict where ctid = any (array(
          select ctid from instep_verdict where ${agesFrom} < ${before}::bigint
          order by ${agesFrom} limit ${sql.lit(forgottenAtOnce)} for update skip locked
        )) returning at, id
      ), counted as (
        select count(*) as count, max(${agesFrom}) as newest from gone
      )
      update instep_state set verdict_horizon = greatest(verdict_horizon, newest + 1) from counted where count > 0
      returning count`.execute(db)
    forgotten = toNumber(rows[0]?.count ?? 0)
  }
}
