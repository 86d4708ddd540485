import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../log/sql/database.ts'
import { type Int8, toNumber } from '../log/sql/int8.ts'
import { attachmentStateOf, readAttachments } from './attached.ts'
import { inspect, type MappedTable } from './inspect.ts'
import type { TypeMapping } from './mapping.ts'
import { recordsIn } from './rows.ts'

/** The maximum number of ids in the result of a check. */
const maxNamed = 10

/** How the rows of an attached table compare with the records of its type. */
export interface TableCheck {
  readonly type: string
  /** The number of records that the rows make. */
  readonly rows: number
  /** The number of queued changes. */
  readonly waiting: number
  /** The number of records that differ from their rows, without a queued change. */
  readonly differing: number
  /** The ids of the first of the differing records, at most 10. */
  readonly ids: readonly string[]
  /** The fault of the attachment itself, as a sentence. */
  readonly fault: string | undefined
}

/** Compares each table with the records of its type, at one moment. Changes nothing. */
export async function checkTables(db: Db, mappings: readonly TypeMapping[]): Promise<readonly TableCheck[]> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      const attachments = await readAttachments(trx)
      const checks: TableCheck[] = []
      for (const mapping of mappings) {
        const table = await inspect(trx, mapping)
        const fault = faults[await attachmentStateOf(trx, table, attachments.get(mapping.type))]
        checks.push({ ...(await compare(trx, table)), fault })
      }
      return checks
    })
}

/** Puts the keys of all records that differ from their rows into `instep_change`. Safe to run again. */
export async function repairTables(db: Db, mappings: readonly TypeMapping[]): Promise<void> {
  for (const mapping of mappings) {
    const table = await inspect(db, mapping)
    await sql`
      with ${differing(table)}
      insert into instep_change (t, ids)
      select ${mapping.type}, array_agg(id) from (select id, row_number() over () as n from differing) d group by n / 1000`.execute(
      db,
    )
  }
}

const faults: Readonly<Record<Awaited<ReturnType<typeof attachmentStateOf>>, string | undefined>> = {
  same: undefined,
  columns: 'Its columns have changed since it was attached; run `instep attach` again.',
  older: 'Another mapping has been attached since this one; use that mapping.',
  unattached: 'It is not attached with this mapping; run `instep attach`.',
  unfilled: 'Attaching was interrupted; run `instep attach` again.',
  triggers: 'Its triggers are missing or disabled; run `instep attach` again.',
}

async function compare(db: Db, table: MappedTable): Promise<Omit<TableCheck, 'fault'>> {
  const { type } = table.mapping
  const { rows } = await sql<{ rows: Int8; waiting: Int8; differing: Int8; ids: readonly string[] | null }>`
    with ${differing(table)}
    select (select count(*) from present) as rows,
      (select count(distinct id) from waiting) as waiting,
      (select count(*) from differing) as differing,
      (select array_agg(id order by id) from (select id from differing order by id limit ${sql.lit(maxNamed)}) n) as ids`.execute(
    db,
  )
  const [found] = rows
  return {
    type,
    rows: toNumber(found?.rows ?? 0),
    waiting: toNumber(found?.waiting ?? 0),
    differing: toNumber(found?.differing ?? 0),
    ids: found?.ids ?? [],
  }
}

/**
 * The parts of a `with`: the queued keys, with null for all keys of the type; the records that the rows make; and the
 * keys of those that differ.
 */
function differing(table: MappedTable): RawBuilder<unknown> {
  const { type } = table.mapping
  return sql`waiting as (
      select k.id from instep_change c left join lateral unnest(c.ids) as k(id) on true where c.t = ${type}
    ), present as (
      select * from (${sql.raw(recordsIn(table, 'true'))}) x where x.owner is not null
    ), differing as (
      select coalesce(x.id, r.id) as id from present x
      full join (select * from instep_record where t = ${type}) r on r.id = x.id
      where (x.owner is distinct from r.owner or x.p::jsonb is distinct from r.p::jsonb)
        and not exists (select from waiting where id is null)
        and not exists (select from waiting w where w.id = coalesce(x.id, r.id))
    )`
}
