import { recordReader } from '../../server/record.ts'
import type { Command } from '../command.ts'
import { lastingDatabaseOption } from '../database.ts'
import { CommandError } from '../failure.ts'
import { logOptions } from '../log.ts'
import { withPresentLog } from '../present-log.ts'
import { configOption } from '../settings.ts'

export const get: Command = {
  name: 'get',
  about: 'Prints a record as one line of JSON, with its id.',
  arguments: [
    { name: 'type', about: 'The type of the record' },
    { name: 'id', about: 'Its id; write `-- -x` for an id that begins with a dash' },
  ],
  options: { database: lastingDatabaseOption, ...logOptions, config: configOption },
  notes: ['If there is no such record, the exit code is 1.'],
  async run(settings, shell) {
    const [type, id] = [settings.argument(0, 'type'), settings.argument(1, 'id')]
    const record = await withPresentLog(settings, shell, (log) =>
      recordReader((...key) => log.read(...key))(type, id),
    )
    if (!record) throw new CommandError(`There is no ${type} ${id}.`)
    shell.stdout.write(`${JSON.stringify(record)}\n`)
  },
}
