import { sql } from 'kysely'
import { isPostgres } from '../log/sql/address.ts'
import type { Db, SqlDatabase } from '../log/sql/database.ts'
import { type Int8, toNumber } from '../log/sql/int8.ts'
import { openPGlite } from '../log/sql/pglite.ts'
import { openPostgres, type PostgresOptions } from '../log/sql/postgres.ts'
import { readPosition } from '../log/sql/read.ts'

const maxOwners = 10

/** The content of a database, as numbers. */
export interface DatabaseStats {
  readonly history: string
  readonly head: number
  readonly horizon: number
  readonly records: number
  readonly types: readonly { readonly t: string; readonly records: number; readonly owners: number }[]
  readonly owners: {
    readonly count: number
    /** The owners with the most records, at most 10. */
    readonly largest: readonly { readonly owner: string; readonly records: number }[]
  }
}

export type DatabaseStatsOptions = Omit<PostgresOptions, 'maxReaders' | 'maxDeltaReaders'>

/** Counts the content of a database and changes nothing. `name` is an address or a folder. */
export function readDatabaseStats(name: string, options: DatabaseStatsOptions): Promise<DatabaseStats> {
  return withDatabase(name, options, count)
}

/** Rejects if the database has no tables of Instep. Creates no tables. */
export async function findTables(name: string, options: DatabaseStatsOptions): Promise<void> {
  await withDatabase(name, options, (database) => readPosition(database.readers, database))
}

/** Opens a database for `read` only: no migration runs. */
async function withDatabase<T>(
  name: string,
  options: DatabaseStatsOptions,
  read: (database: SqlDatabase) => Promise<T>,
): Promise<T> {
  const database = isPostgres(name)
    ? await openPostgres(name, { ...options, maxReaders: 1, maxDeltaReaders: 1 })
    : await openPGlite(name, options)
  try {
    return await read(database)
  } finally {
    await database.close()
  }
}

async function count(database: SqlDatabase): Promise<DatabaseStats> {
  return database.readers
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (db) => {
      const { history, head, horizon } = await readPosition(db, database)
      const types = await countTypes(db)
      const owners = await countOwners(db)
      const records = types.reduce((sum, type) => sum + type.records, 0)
      return { history, head, horizon, records, types, owners }
    })
}

async function countTypes(db: Db): Promise<DatabaseStats['types']> {
  const { rows } = await sql<{ t: string; records: Int8; owners: Int8 }>`
    select t, count(*) as records, count(distinct owner) as owners
    from instep_record group by t order by t`.execute(db)
  return rows.map(({ t, records, owners }) => ({ t, records: toNumber(records), owners: toNumber(owners) }))
}

async function countOwners(db: Db): Promise<DatabaseStats['owners']> {
  const { rows } = await sql<{ owner: string; records: Int8; owners: Int8 }>`
    select owner, count(*) as records, count(*) over () as owners
    from instep_record group by owner order by records desc, owner limit ${sql.lit(maxOwners)}`.execute(db)
  return {
    count: toNumber(rows[0]?.owners ?? 0),
    largest: rows.map(({ owner, records }) => ({ owner, records: toNumber(records) })),
  }
}
