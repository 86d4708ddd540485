import { sql } from 'kysely'
import type { Db } from './database.ts'
import { type Int8, toNumber } from './int8.ts'

/** What may be forgotten of the history; its records and verdicts stay. */
export interface Retention {
  /** Changes older than this, in ms. */
  readonly maxAgeMs?: number | undefined
  /** All but so many of the newest changes. */
  readonly maxChanges?: number | undefined
}

/** How many changes are looked at in one go, so that it ends in time, however many may be forgotten. */
const lookedAtOnce = 100_000

/** A `sid` up to which the history may be forgotten, and once it is, perhaps further; 0 where nothing may. */
export async function forgettable(
  db: Db,
  { maxAgeMs = Number.POSITIVE_INFINITY, maxChanges = Number.POSITIVE_INFINITY }: Retention,
  now: number,
): Promise<number> {
  const oldest = sql`(select sid, at from instep_log order by sid limit ${sql.lit(lookedAtOnce)}) as oldest`
  const { rows } = await sql<{ head: Int8; old: Int8 }>`
    select head, coalesce(
      (select sid - 1 from ${oldest} where at >= ${Math.max(0, now - maxAgeMs)} order by sid limit 1),
      (select max(sid) from ${oldest}),
      head
    ) as old
    from instep_state`.execute(db)
  const [row] = rows
  if (!row) return 0
  return Math.max(0, toNumber(row.old), toNumber(row.head) - maxChanges)
}
