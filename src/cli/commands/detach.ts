import type { Command } from '../command.ts'
import { tablesOptions, withTables } from '../tables.ts'

export const detach: Command = {
  name: 'detach',
  about: 'Detaches tables of the application: their rows are not synced any more.',
  options: tablesOptions,
  notes: ['It removes the triggers. The records stay. If it is interrupted, run it again.'],
  async run(settings, shell) {
    await withTables(settings, shell, (log, { ownerField }) =>
      log.detach(ownerField, (sentence) => shell.stdout.write(`${sentence}\n`)),
    )
  },
}
