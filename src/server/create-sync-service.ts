import { refuseUnknown } from '../base/check-options.ts'
import { ConfigurationError, wrongOption } from '../base/errors.ts'
import { epochOf } from './log/epoch.ts'
import type { Log } from './log/log.ts'
import { checkLogOptions } from './log/sql/check-options.ts'
import { LazyLog } from './log/sql/lazy-log.ts'
import { logOptions, namesDatabase, openSqlLog, type SqlLogOptions } from './log/sql/open.ts'
import { expected, type SyncServiceOptions } from './options.ts'
import { createServiceWith, type SyncService } from './service.ts'
import { sha256 } from './sha256.ts'
import { readMappings } from './tables/mapping.ts'

const known = { ...expected, ...logOptions }

/**
 * Creates a sync service for Node. If `database` is a string, the options of {@link openSqlLog} are allowed as well.
 * Throws a ConfigurationError for an invalid option. Opens nothing before the first request or call of `ready`.
 */
export function createSyncService(options: SyncServiceOptions & SqlLogOptions): SyncService {
  const { database } = options
  refuseUnknown(options, known)
  checkLogOptions(options)
  const isUnused = ([option, value]: [string, unknown]) =>
    value !== undefined && Object.hasOwn(logOptions, option)
  const [unused] = Object.entries(options).find(isUnused) ?? []
  if (database instanceof Object && unused) {
    throw new ConfigurationError(
      unused,
      `The option \`${unused}\` has no effect on a log that is already open; pass it to \`openSqlLog\`.`,
    )
  }
  if (database === 'memory:' && options.tables) {
    throw wrongOption('tables', 'needs a database with tables: PostgreSQL or a folder.')
  }
  if (typeof database === 'string' && options.as && !options.tables) {
    throw wrongOption('as', 'needs `tables`: it is for ops on tables of the application.')
  }
  // Check now, so that a wrong mapping is reported at once.
  if (options.tables) readMappings(options.tables, options.ownerField)
  return createServiceWith(epochOf, { ...options, database: logOf(options) }, sha256)
}

function logOf(options: SyncServiceOptions & SqlLogOptions): string | Log {
  const { database, ownerField } = options
  if (typeof database !== 'string') return database?.claim ? new LazyLog(database, ownerField) : database
  const isNamed = database !== 'memory:' && namesDatabase(database)
  return isNamed ? new LazyLog(() => openSqlLog(database, options), ownerField) : database
}
