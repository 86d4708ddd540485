import { sql } from 'kysely'
import type { Db } from '../log/sql/database.ts'
import { columnsOf, type MappedTable } from './inspect.ts'
import { identifier } from './quote.ts'
import { idOf } from './rows.ts'

/** The number of keys that one statement puts into `instep_change`: few enough to become frames at once. */
const batchKeys = 5_000

/**
 * Puts the keys of all rows and records of a type into `instep_change`, those of rows that are set aside included, in batches, while others write. Calls
 * `onBatch` after each. Safe to interrupt, and to run again.
 */
export async function queueAllKeys(
  db: Db,
  table: MappedTable,
  onBatch: () => Promise<void> = async () => {},
): Promise<void> {
  const { type } = table.mapping
  const id = sql.raw(identifier(table.mapping.id))
  const relation = sql.raw(table.relation)
  const text = sql.raw(idOf(table, 'c'))
  const cast = sql.raw(table.key.cast)
  const after = (last: string | undefined) =>
    last === undefined ? sql`` : sql`where c.${id} > ${last}::text::${cast}`
  await inBatches(onBatch, async (last) => {
    const { rows } = await sql<{ last: string | null }>`
      with part as (
        select c.${id} as key, ${text} as id from ${relation} as c ${after(last)} order by c.${id} limit ${sql.lit(batchKeys)}
      ), put as (
        insert into instep_change (t, ids) select ${type}, array_agg(id) from part having count(*) > 0
      )
      select id as last from part order by key desc limit 1`.execute(db)
    return rows[0]?.last ?? undefined
  })
  await inBatches(onBatch, async (last = '') => {
    const { rows } = await sql<{ last: string | null }>`
      with part as (
        select id from instep_record where t = ${type} and id > ${last} order by id limit ${sql.lit(batchKeys)}
      ), put as (
        insert into instep_change (t, ids) select ${type}, array_agg(id) from part having count(*) > 0
      )
      select max(id) as last from part`.execute(db)
    return rows[0]?.last ?? undefined
  })
  await sql`
    insert into instep_change (t, ids)
    select ${type}, array_agg(id) from instep_aside where t = ${type} and kind = 'row' having count(*) > 0`.execute(
    db,
  )
  await onBatch()
  const columns = JSON.stringify(columnsOf(table))
  await sql`update instep_table set filled = true, columns = ${columns}::json where t = ${type}`.execute(db)
}

async function inBatches(
  onBatch: () => Promise<void>,
  next: (last: string | undefined) => Promise<string | undefined>,
): Promise<void> {
  for (let last = await next(undefined); last !== undefined; last = await next(last)) await onBatch()
}
