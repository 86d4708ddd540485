import { epochOf } from './log/epoch.ts'
import { sha256 } from './log/sha256.ts'
import { LateLog } from './log/sql/late-log.ts'
import { namesDatabase, openSqlLog } from './log/sql/open.ts'
import type { SyncServiceOptions } from './options.ts'
import { createServiceWith, type SyncService } from './service.ts'

/** Throws a ConfigurationError for a wrong option. Nothing happens before the first request. */
export function createSyncService(options: SyncServiceOptions): SyncService {
  const { database } = options
  const isNamed = typeof database === 'string' && database !== 'memory:' && namesDatabase(database)
  const log = isNamed ? new LateLog(() => openSqlLog(database, options)) : database
  return createServiceWith(epochOf, { ...options, database: log }, sha256)
}
