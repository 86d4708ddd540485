import { sql } from 'kysely'
import type { Db } from './database.ts'
import { type Int8, toNumber } from './int8.ts'

/** What may be forgotten of the history; its records and verdicts stay. */
export interface Retention {
  /** Changes older than this, in ms. */
  readonly maxAgeMs?: number
  /** All but so many of the newest changes. */
  readonly maxChanges?: number
}

/** The `sid` up to which the history may be forgotten; 0 where nothing may. */
export async function forgettable(
  db: Db,
  { maxAgeMs = Number.POSITIVE_INFINITY, maxChanges = Number.POSITIVE_INFINITY }: Retention,
  now: number,
): Promise<number> {
  // The first change that is young enough is soon found: what is older, was forgotten the last time.
  const { rows } = await sql<{ head: Int8; young: Int8 }>`
    select head, coalesce(
      (select sid from instep_log where at >= ${Math.max(0, now - maxAgeMs)} order by sid limit 1), head + 1
    ) as young
    from instep_state`.execute(db)
  const [row] = rows
  if (!row) return 0
  return Math.max(0, toNumber(row.young) - 1, toNumber(row.head) - maxChanges)
}
