import { sql } from 'kysely'
import { resolveEnvironment } from '../../src/base/environment.default.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { KyselyLog, type LogOptions } from '../../src/server/log/sql/kysely-log.ts'
import { openDatabase } from '../../src/server/log/sql/open-database.ts'

const { clock, random } = resolveEnvironment()

/** The options of a log in a test. */
export const logOptions = {
  clock,
  random,
  logger: silentLogger,
  readerIdleMs: 30_000,
  spoolAfterMs: 5_000,
  maxReadMs: 60_000,
  retention: undefined,
  maxReaders: 4,
  maxDeltaReaders: 4,
  maxWaitMs: 10_000,
}

/** Makes logs in one database, each empty again when the one before is closed: opening a database takes long. */
export async function logsIn(name: string) {
  const database = await openDatabase(name, logOptions)
  const close = async () => {
    // A truncation makes new files, which takes longer than the few rows of a test.
    await sql`
      with log as (delete from instep_log), record as (delete from instep_record), verdict as (delete from instep_verdict)
      update instep_state set head = 0, horizon = 0, verdict_horizon = 0, owner_field = null`.execute(
      database.writers,
    )
  }
  return {
    database,
    make: async (more: Partial<LogOptions> = {}) => ({
      log: new KyselyLog({ ...database, close }, { ...logOptions, ...more }),
    }),
    close: () => database.close(),
  }
}
