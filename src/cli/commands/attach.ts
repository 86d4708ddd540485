import type { Command } from '../command.ts'
import { tablesOptions, withTables } from '../tables.ts'

export const attach: Command = {
  name: 'attach',
  about: 'Attaches tables of the application, so that their rows are synced.',
  options: tablesOptions,
  notes: [
    'It creates triggers on the tables, and takes all rows. If it is interrupted, run it again.\n' +
      'Run it before the service that has the mapping starts, and again whenever the mapping has changed.',
  ],
  async run(settings, shell) {
    await withTables(settings, shell, (log, { ownerField }) =>
      log.attach(ownerField, (sentence) => shell.stdout.write(`${sentence}\n`)),
    )
  },
}
