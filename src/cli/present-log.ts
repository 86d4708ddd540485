import { resolveEnvironment } from '../base/environment.default.ts'
import type { SqlLog } from '../server/log/sql/sql-log.ts'
import { loadPeer } from '../server/optional-peer.ts'
import { openLog, presentDatabaseIn, withCommandErrors } from './database.ts'
import { loggerIn } from './log.ts'
import type { Settings } from './settings.ts'
import type { Shell } from './shell.ts'

/** Runs `work` with the log of an existing database of Instep, and closes the log. */
export async function withPresentLog<T>(
  settings: Settings,
  shell: Shell,
  work: (log: SqlLog) => Promise<T>,
): Promise<T> {
  const name = presentDatabaseIn(settings)
  const logger = await loggerIn(settings, shell)
  const { findTables } = await loadPeer('kysely', () => import('../server/ops/database-stats.ts'))
  // Check first: opening the log would create the tables.
  await withCommandErrors(name, () => findTables(name, { ...resolveEnvironment(), logger }))
  const log = await openLog(name, { logger })
  try {
    return await withCommandErrors(name, () => work(log))
  } finally {
    await log.close()
  }
}
