import { sql } from 'kysely'
import type { Db } from '../log/sql/database.ts'
import { type Int8, toNumber } from '../log/sql/int8.ts'
import { setAside } from './aside.ts'
import { asideOf, badAsides, keysOf } from './drain.ts'
import { ColumnsChanged, type MappedTable } from './inspect.ts'
import { type BadRow, exceptBad } from './probe-rows.ts'
import { identifier, literal } from './quote.ts'
import { keyOf, recordsIn } from './rows.ts'

/**
 * Records all queued changes without frames: stores the records, each with a sid of its own, and forgets the earlier
 * history. Clients fetch a snapshot. Uses one statement, so that any amount of data stays in the database. Resolves
 * with the number of records that differ. `bad`: see `takeChanges`. Must run under the log's lock. Rejects with
 * {@link ColumnsChanged}.
 */
export async function takeInBulk(
  db: Db,
  tables: readonly MappedTable[],
  bad: readonly BadRow[],
): Promise<number> {
  const states = tables.map((table) => {
    const { type, id } = table.mapping
    const keys = `select ${keyOf(table, 'k.id')} from instep_keys k where k.t = ${literal(type)}`
    return `select ${literal(type)} as t, x.* from (${recordsIn(table, `c.${identifier(id)} in (${keys}) and ${exceptBad(table, bad)}`)}) x
      where x.owner is not null or x.aside is not null`
  })
  // The planner would expect few keys, and choose nested loops.
  await sql`set local enable_nestloop = off`.execute(db)
  const { rows } = await sql<{ count: Int8; fits: boolean }>`
    with ${sql.raw(keysOf(tables))}, instep_states as materialized (${sql.raw(states.join(' union all '))}), ${sql.raw(asideOf)},
    differing as materialized (
      select k.t, k.id, s.owner, s.p, row_number() over () as n
      from instep_keys k
      left join instep_states s on s.t = k.t and s.id = k.id
      left join instep_record r on r.t = k.t and r.id = k.id
      where s.owner is distinct from r.owner or s.p::jsonb is distinct from r.p::jsonb
    ), counted as (
      select count(*) as count from differing
    ), state as (
      select head from instep_state
    ), kept as (
      insert into instep_record (t, id, owner, sid, p)
      select d.t, d.id, d.owner, state.head + d.n, d.p from differing d, state where d.owner is not null
      on conflict (t, id) do update set owner = excluded.owner, sid = excluded.sid, p = excluded.p
    ), gone as (
      delete from instep_record r using differing d where d.owner is null and r.t = d.t and r.id = d.id
    ), moved as (
      update instep_state set head = head + counted.count, horizon = head + counted.count,
        bulk = head + counted.count from counted
      where counted.count > 0
    )
    select count, fits from counted, instep_fits`.execute(db)
  if (rows[0]?.fits !== true) throw new ColumnsChanged()
  await setAside(db, badAsides(tables, bad))
  return toNumber(rows[0].count)
}
