import { isOwner } from '../server/auth/owners.ts'
import { namesDatabase, openSqlLog } from '../server/log/sql/open.ts'
import type { SqlLog } from '../server/log/sql/sql-log.ts'
import type { TableMappings } from '../server/tables/mapping.ts'
import { withCommandErrors } from './database.ts'
import { UsageError } from './failure.ts'
import { loggerIn, logOptions } from './log.ts'
import type { Settings } from './settings.ts'
import type { Shell } from './shell.ts'

/** The options of the commands that work on the application's tables. */
export const tablesOptions = {
  config: {
    about:
      'The file with `database`, `ownerField` and `tables`: JSON, or a module whose default export has them',
    value: 'file',
  },
  ...logOptions,
}

export interface TablesConfig {
  readonly database: string
  readonly ownerField: string
  readonly tables: TableMappings
}

/** Runs `work` with the log of the database that the file of `--config` names, and closes the log. */
export async function withTables<T>(
  settings: Settings,
  shell: Shell,
  work: (log: SqlLog, config: TablesConfig) => Promise<T>,
): Promise<T> {
  const config = tablesConfigOf(settings)
  const logger = await loggerIn(settings, shell)
  const { database, tables } = config
  return withCommandErrors(database, async () => {
    const log = await openSqlLog(database, { tables, logger })
    try {
      return await work(log, config)
    } finally {
      await log.close()
    }
  })
}

function tablesConfigOf(settings: Settings): TablesConfig {
  const { tables } = settings
  if (!tables) {
    throw new UsageError('`tables` is missing; set it in the file that `--config` names.')
  }
  const database = settings.required('database', 'a folder, or an address like `postgres://user@host/name`')
  if (!namesDatabase(database) || database === 'memory:') {
    throw new UsageError('`database` must be a folder, or an address like `postgres://user@host/name`.')
  }
  const ownerField = settings.required('owner-field', 'the name of a field')
  if (!isOwner(ownerField)) throw new UsageError('`ownerField` must be the name of a field.')
  return { database, ownerField, tables }
}
