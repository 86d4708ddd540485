import { resolveEnvironment } from '../../base/environment.default.ts'
import { peer } from '../../server/optional-peer.ts'
import type { Command } from '../command.ts'
import { lastingDatabaseOption, openLog, presentDatabaseIn, reaching } from '../database.ts'
import { UsageError } from '../failure.ts'
import { loggerIn, logOptions } from '../log.ts'
import { configOption } from '../settings.ts'

export const epoch: Command = {
  name: 'epoch',
  about: 'Starts a new history after a restore from a backup, so that every client fetches a snapshot.',
  options: {
    new: { about: 'Confirms the command; only counts in the command line' },
    database: lastingDatabaseOption,
    ...logOptions,
    config: configOption,
  },
  notes: [],
  async run(settings, shell) {
    if (!settings.meant('new')) {
      throw new UsageError(
        '`--new` is missing; it confirms that every client of this database fetches a snapshot.',
      )
    }
    const name = presentDatabaseIn(settings)
    const logger = await loggerIn(settings, shell)
    const { findTables } = await peer('kysely', () => import('../../server/ops/census.ts'))
    // Check first: opening the log would create the tables.
    await reaching(name, () => findTables(name, { ...resolveEnvironment(), logger }))
    const log = await openLog(name, { logger })
    try {
      await log.newEpoch()
      shell.stdout.write('A new history has begun. Every client fetches a snapshot.\n')
    } finally {
      await log.close()
    }
  },
}
