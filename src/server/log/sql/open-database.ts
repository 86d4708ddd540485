import { isPostgres } from './address.ts'
import type { SqlDatabase } from './database.ts'
import { migrate } from './migrations.ts'
import { openPGlite } from './pglite.ts'
import { openPostgres, type PostgresOptions } from './postgres.ts'
import { readPosition } from './read.ts'

export { KyselyLog } from './kysely-log.ts'

/**
 * Opens the database `name` and migrates its tables to the newest version. Rejects with a NetworkError if the tables
 * are of different moments.
 */
export async function openDatabase(name: string, options: PostgresOptions): Promise<SqlDatabase> {
  const database = await open(name, options)
  try {
    await migrate(database.migrators)
    await readPosition(database.followers, database)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

function open(name: string, options: PostgresOptions): Promise<SqlDatabase> {
  if (isPostgres(name)) return openPostgres(name, options)
  return openPGlite(name === 'memory:' ? undefined : name, options)
}
