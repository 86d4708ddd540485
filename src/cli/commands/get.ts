import { recordReader } from '../../server/record.ts'
import type { Command } from '../command.ts'
import { lastingDatabaseOption } from '../database.ts'
import { logOptions } from '../log.ts'
import { withPresentLog } from '../present-log.ts'
import { noSuchRecord, recordArguments, recordNamedIn } from '../record-arguments.ts'
import { configOption } from '../settings.ts'

export const get: Command = {
  name: 'get',
  about: 'Prints a record as one line of JSON, with its id.',
  arguments: recordArguments,
  options: { database: lastingDatabaseOption, ...logOptions, config: configOption },
  notes: ['If there is no such record, the exit code is 1.'],
  async run(settings, shell) {
    const [type, id] = recordNamedIn(settings)
    const record = await withPresentLog(settings, shell, (log) =>
      recordReader((...key) => log.read(...key))(type, id),
    )
    if (!record) throw noSuchRecord(type, id)
    shell.stdout.write(`${JSON.stringify(record)}\n`)
  },
}
