import { isPostgres } from './address.ts'
import type { SqlDatabase } from './database.ts'
import { migrate } from './migrations.ts'
import { openPGlite } from './pglite.ts'
import { openPostgres, type PostgresOptions } from './postgres.ts'
import { readPosition } from './read.ts'

export { KyselyLog } from './kysely-log.ts'

/** The database that `name` names, its tables up to date. Rejects with a NetworkError if they are not of one moment. */
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
