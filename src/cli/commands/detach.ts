import type { Command } from '../command.ts'
import { tablesOptions, withTables } from '../tables.ts'

export const detach: Command = {
  name: 'detach',
  about: 'Detaches tables of the application: their rows are not synced any more.',
  options: {
    ...tablesOptions,
    all: {
      about:
        'Detaches all tables and removes everything of Instep, records and history included; works only on the command line',
    },
  },
  notes: [
    'It removes the triggers. The records stay, unless `--all` is set. If it is interrupted, run it again.\n' +
      'Before `--all`, stop every service of the database.',
  ],
  async run(settings, shell) {
    const onStep = (sentence: string) => shell.stdout.write(`${sentence}\n`)
    const isAll = settings.flagInCommandLine('all')
    await withTables(settings, shell, (log, { ownerField }) =>
      isAll ? log.detachAll(onStep) : log.detach(ownerField, onStep),
    )
  },
}
