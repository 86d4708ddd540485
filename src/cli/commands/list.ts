import { queryRecords } from '../../server/query-records.ts'
import type { Command } from '../command.ts'
import { lastingDatabaseOption } from '../database.ts'
import { UsageError } from '../failure.ts'
import { logOptions } from '../log.ts'
import { withPresentLog } from '../present-log.ts'
import { configOption, type Settings } from '../settings.ts'

export const list: Command = {
  name: 'list',
  about: 'Prints the records of a type in the order of their ids, each as one line of JSON.',
  arguments: [{ name: 'type', about: 'The type of the records' }],
  options: {
    database: lastingDatabaseOption,
    owner: { about: 'Only the records of this owner', value: 'id' },
    where: { about: 'Conditions as in a query, such as {"status":"open","size":{"gt":2}}', value: 'json' },
    limit: { about: 'The maximum number of records', value: 'number' },
    after: { about: 'Only the records whose ids come after this one', value: 'id' },
    ...logOptions,
    config: configOption,
  },
  notes: ['Without records, nothing is printed and the exit code is 0.'],
  async run(settings, shell) {
    const type = settings.argument(0, 'type')
    const query = {
      owner: settings.text('owner'),
      where: whereIn(settings),
      limit: settings.integer('limit', 0, Number.MAX_SAFE_INTEGER),
      after: settings.text('after'),
    }
    await withPresentLog(settings, shell, async (log) => {
      for await (const record of queryRecords(log, type, query)) {
        shell.stdout.write(`${JSON.stringify(record)}\n`)
      }
    })
  },
}

function whereIn(settings: Settings) {
  const text = settings.text('where')
  try {
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    throw new UsageError('`--where` must be a JSON object, like {"status":"open"}.')
  }
}
