import type { Command } from '../command.ts'
import { lastingDatabaseOption } from '../database.ts'
import { UsageError } from '../failure.ts'
import { logOptions } from '../log.ts'
import { withPresentLog } from '../present-log.ts'
import { configOption } from '../settings.ts'

export const epoch: Command = {
  name: 'epoch',
  about: 'Starts a new history after a restore from a backup, so that every client fetches a snapshot.',
  options: {
    new: { about: 'Confirms the command; works only on the command line' },
    database: lastingDatabaseOption,
    ...logOptions,
    config: configOption,
  },
  notes: [],
  async run(settings, shell) {
    if (!settings.flagInCommandLine('new')) {
      throw new UsageError(
        '`--new` is missing; it confirms that every client of this database fetches a snapshot.',
      )
    }
    await withPresentLog(settings, shell, (log) => log.newEpoch())
    shell.stdout.write('A new history has begun. Every client fetches a snapshot.\n')
  },
}
