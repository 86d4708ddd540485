import { sql } from 'kysely'
import type { Db } from '../log/sql/database.ts'
import { isOfDatabase, sqlStateOf } from '../log/sql/sql-state.ts'
import type { MappedTable } from './inspect.ts'
import { identifier, literal } from './quote.ts'
import { hasKey, idOf, recordsIn } from './rows.ts'

/** The number of rows that are read at once. */
const batchRows = 1_000

/** The maximum number of rows of a table that can be set aside one by one; with more, the table is set aside. */
const maxBad = 1_000

/** A row that the database cannot turn into a record. `xmin`: the version of the row. */
export interface BadRow {
  readonly id: string
  readonly xmin: string
  /** A sentence, without data. */
  readonly reason: string
}

/**
 * Finds the rows of queued keys, or of all keys, that make a statement fail. Takes no lock that others wait for. Throws
 * the error of the database if there are too many.
 */
export async function badRowsOf(
  db: Db,
  table: MappedTable,
  which: 'waiting' | 'all',
): Promise<readonly BadRow[]> {
  const bad: BadRow[] = []
  for (let ids = await keysAfter(db, table, which, ''); ids.length > 0; ) {
    await probe(db, table, ids, bad)
    ids = await keysAfter(db, table, which, ids.at(-1) ?? '')
  }
  return bad
}

/** The condition that the row `c` is none of `bad`. */
export function exceptBad(table: MappedTable, bad: readonly BadRow[]): string {
  if (bad.length === 0) return 'true'
  const rows = bad.map(({ id, xmin }) => `(${literal(id)}, ${literal(xmin)})`)
  return `(${idOf(table, 'c')}, c.xmin::text) not in (${rows.join()})`
}

async function keysAfter(
  db: Db,
  table: MappedTable,
  which: 'waiting' | 'all',
  after: string,
): Promise<readonly string[]> {
  const { type } = table.mapping
  const all = sql.raw(`select ${idOf(table, 'c')} collate "C" as id from ${table.relation} as c`)
  const waiting = sql`
    select k.id collate "C" as id from instep_change q cross join lateral unnest(q.ids) as k(id) where q.t = ${type}
    union
    select id from instep_record where t = ${type}
      and exists (select from instep_change where t = ${type} and ids is null)`
  const { rows } = await sql<{ id: string }>`
    select id from (${which === 'all' ? all : waiting}) k where id > ${after} order by id limit ${sql.lit(batchRows)}`.execute(
    db,
  )
  return rows.map(({ id }) => id)
}

async function probe(db: Db, table: MappedTable, ids: readonly string[], bad: BadRow[]): Promise<void> {
  const record = sql.raw(recordsIn(table, hasKey(table, 'c', 'k.id')))
  try {
    // As `jsonb`, like the statements that compare records.
    await sql`
      select count(x.p::jsonb) from unnest(${[...ids]}::text[]) as k(id) cross join lateral (${record}) x`.execute(
      db,
    )
  } catch (error) {
    if (!isOfDatabase(error) || bad.length === maxBad) throw error
    if (ids.length > 1) {
      const half = Math.ceil(ids.length / 2)
      await probe(db, table, ids.slice(0, half), bad)
      await probe(db, table, ids.slice(half), bad)
      return
    }
    const [id = ''] = ids
    const key = sql.raw(`c.${identifier(table.mapping.id)}`)
    const { rows } = await sql<{ xmin: string }>`
      select c.xmin::text as xmin from ${sql.raw(table.relation)} as c where ${key} = ${id}::text::${sql.raw(table.key.cast)}`.execute(
      db,
    )
    const [row] = rows
    if (row)
      bad.push({
        id,
        ...row,
        reason: `The database cannot read it (SQLSTATE ${sqlStateOf(error)}).`,
      })
  }
}
