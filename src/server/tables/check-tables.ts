import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../log/sql/database.ts'
import { type Int8, toNumber } from '../log/sql/int8.ts'
import { isOfDatabase } from '../log/sql/sql-state.ts'
import { readAsides, rowsAside } from './aside.ts'
import { readAttachments } from './attached.ts'
import { examine, type FittingTable } from './examine.ts'
import type { MappedTable } from './inspect.ts'
import type { TypeMapping } from './mapping.ts'
import { type BadRow, badRowsOf, exceptBad } from './probe-rows.ts'
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
  /** The first of the rows that cannot be records, at most 10, and why. */
  readonly aside: readonly { readonly id: string; readonly reason: string }[]
  /** The number of rows that cannot be records. */
  readonly asideCount: number
  /** Why the table is set aside, or its attachment is not complete, as a sentence. Nothing is compared in some cases. */
  readonly fault: string | undefined
}

/** Compares each table with the records of its type, each at one moment. Changes nothing. */
export async function checkTables(db: Db, mappings: readonly TypeMapping[]): Promise<readonly TableCheck[]> {
  const attachments = await readAttachments(db)
  const asides = await readAsides(db)
  const checks: TableCheck[] = []
  for (const mapping of mappings) {
    const { type } = mapping
    const found = await examine(db, mapping, attachments.get(type))
    const aside = (await rowsAside(db, type, maxNamed)).map(({ id, reason }) => ({ id, reason }))
    const rowsAsideCount = asides.rows.get(type) ?? 0
    const noted = asides.tables.get(type)?.reason ?? asides.writes.get(type)
    const compared =
      'unfit' in found ? uncompared : await compare(db, found.table, await badIn(db, found.table))
    const fault = 'unfit' in found ? found.unfit : (faults[found.state] ?? noted)
    checks.push({ type, ...compared, aside, asideCount: rowsAsideCount, fault })
  }
  return checks
}

const uncompared = { rows: 0, waiting: 0, differing: 0, ids: [] }

/** Puts the keys of all records that differ from their rows into `instep_change`. Safe to run again. */
export async function repairTables(db: Db, mappings: readonly TypeMapping[]): Promise<void> {
  const attachments = await readAttachments(db)
  for (const mapping of mappings) {
    const found = await examine(db, mapping, attachments.get(mapping.type))
    if ('unfit' in found) continue
    await sql`
      with ${differing(found.table, await badIn(db, found.table))}
      insert into instep_change (t, ids)
      select ${mapping.type}, array_agg(id) from (select id, row_number() over () as n from differing) d group by n / 1000`.execute(
      db,
    )
  }
}

const faults: Readonly<Record<FittingTable['state'], string | undefined>> = {
  same: undefined,
  columns: 'Its columns have changed since it was attached; run `instep attach` again.',
  older: 'Another mapping has been attached since this one; use that mapping.',
  unattached: 'It is not attached with this mapping; run `instep attach`.',
  unfilled: 'Attaching was interrupted; run `instep attach` again.',
}

/** The rows that make a statement fail; none if a statement can read all of them. */
async function badIn(db: Db, table: MappedTable): Promise<readonly BadRow[]> {
  try {
    await sql`select count(x.p::jsonb) from (${sql.raw(recordsIn(table, 'true'))}) x`.execute(db)
    return []
  } catch (error) {
    if (!isOfDatabase(error)) throw error
    return badRowsOf(db, table, 'all')
  }
}

async function compare(
  db: Db,
  table: MappedTable,
  bad: readonly BadRow[],
): Promise<Omit<TableCheck, 'type' | 'fault' | 'aside' | 'asideCount'>> {
  const { rows } = await sql<{ rows: Int8; waiting: Int8; differing: Int8; ids: readonly string[] | null }>`
    with ${differing(table, bad)}
    select (select count(*) from present) as rows,
      (select count(distinct id) from waiting) as waiting,
      (select count(*) from differing) as differing,
      (select array_agg(id order by id) from (select id from differing order by id limit ${sql.lit(maxNamed)}) n) as ids`.execute(
    db,
  )
  const [found] = rows
  return {
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
function differing(table: MappedTable, bad: readonly BadRow[]): RawBuilder<unknown> {
  const { type } = table.mapping
  return sql`waiting as (
      select k.id from instep_change c left join lateral unnest(c.ids) as k(id) on true where c.t = ${type}
    ), present as (
      select * from (${sql.raw(recordsIn(table, exceptBad(table, bad)))}) x where x.owner is not null
    ), differing as (
      select coalesce(x.id, r.id) as id from present x
      full join (select * from instep_record where t = ${type}) r on r.id = x.id
      where (x.owner is distinct from r.owner or x.p::jsonb is distinct from r.p::jsonb)
        and not exists (select from waiting where id is null)
        and not exists (select from waiting w where w.id = coalesce(x.id, r.id))
    )`
}
