import { ConfigurationError } from '../base/errors.ts'
import { epochOf } from './log/epoch.ts'
import { sha256 } from './log/sha256.ts'
import { LateLog } from './log/sql/late-log.ts'
import { namesDatabase, openSqlLog, type SqlLogOptions } from './log/sql/open.ts'
import type { SyncServiceOptions } from './options.ts'
import { createServiceWith, type SyncService } from './service.ts'

const logOptions = [
  ...(['readerIdleMs', 'spoolAfterMs', 'maxReadMs', 'maxReaders', 'maxDeltaReaders'] as const),
  ...(['maxWaitMs', 'retention'] as const),
]

/**
 * With the options of {@link openSqlLog} for a `database` that is named. Throws a ConfigurationError for a wrong option.
 * Nothing happens before the first request.
 */
export function createSyncService(options: SyncServiceOptions & SqlLogOptions): SyncService {
  const { database } = options
  const idle = logOptions.find((option) => options[option] !== undefined)
  if (typeof database === 'object' && idle) {
    throw new ConfigurationError(idle, `The option \`${idle}\` is the log's, which is open already.`)
  }
  const isNamed = typeof database === 'string' && database !== 'memory:' && namesDatabase(database)
  const log = isNamed ? new LateLog(() => openSqlLog(database, options)) : database
  return createServiceWith(epochOf, { ...options, database: log }, sha256)
}
