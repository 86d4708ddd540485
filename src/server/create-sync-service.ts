import { refuseUnknown } from '../base/check-options.ts'
import { ConfigurationError } from '../base/errors.ts'
import { epochOf } from './log/epoch.ts'
import type { Log } from './log/log.ts'
import { checkLogOptions } from './log/sql/check-options.ts'
import { LateLog } from './log/sql/late-log.ts'
import { logOptions, namesDatabase, openSqlLog, type SqlLogOptions } from './log/sql/open.ts'
import { expected, type SyncServiceOptions } from './options.ts'
import { createServiceWith, type SyncService } from './service.ts'
import { sha256 } from './sha256.ts'

const known = { ...expected, ...logOptions }

/**
 * With the options of {@link openSqlLog} for a `database` that is named. Throws a ConfigurationError for a wrong option.
 * Nothing happens before the first request.
 */
export function createSyncService(options: SyncServiceOptions & SqlLogOptions): SyncService {
  const { database } = options
  refuseUnknown(options, known)
  checkLogOptions(options)
  const isIdle = ([option, value]: [string, unknown]) =>
    value !== undefined && Object.hasOwn(logOptions, option)
  const [idle] = Object.entries(options).find(isIdle) ?? []
  if (database instanceof Object && idle) {
    throw new ConfigurationError(idle, `The option \`${idle}\` is the log's, which is open already.`)
  }
  return createServiceWith(epochOf, { ...options, database: logOf(options) }, sha256)
}

function logOf(options: SyncServiceOptions & SqlLogOptions): string | Log {
  const { database, ownerField } = options
  if (typeof database !== 'string') return database?.claim ? new LateLog(database, ownerField) : database
  const isNamed = database !== 'memory:' && namesDatabase(database)
  return isNamed ? new LateLog(() => openSqlLog(database, options), ownerField) : database
}
