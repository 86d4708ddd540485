import { epochOf } from './log/epoch.ts'
import { sha256 } from './log/sha256.ts'
import type { SyncServiceOptions } from './options.ts'
import { createServiceWith, type SyncService } from './service.ts'

/** Throws a ConfigurationError for a wrong option. Nothing happens before the first request. */
export function createSyncService(options: SyncServiceOptions): SyncService {
  return createServiceWith(epochOf, options, sha256)
}
