import { resolveEnvironment } from '../../base/environment.default.ts'
import type { DatabaseStats } from '../../server/ops/database-stats.ts'
import { loadPeer } from '../../server/optional-peer.ts'
import type { Command } from '../command.ts'
import { lastingDatabaseOption, presentDatabaseIn, withCommandErrors } from '../database.ts'
import { oneLine } from '../failure.ts'
import { loggerIn, logOptions } from '../log.ts'
import { pluralize } from '../pluralize.ts'
import { configOption } from '../settings.ts'

export const status: Command = {
  name: 'status',
  about: 'Shows the position of a database and the number of its records.',
  options: {
    database: lastingDatabaseOption,
    json: { about: 'Prints one JSON object' },
    ...logOptions,
    config: configOption,
  },
  notes: [],
  async run(settings, shell) {
    const name = presentDatabaseIn(settings)
    const logger = await loggerIn(settings, shell)
    const { readDatabaseStats } = await loadPeer('kysely', () => import('../../server/ops/database-stats.ts'))
    const stats = await withCommandErrors(name, () =>
      readDatabaseStats(name, { ...resolveEnvironment(), logger }),
    )
    shell.stdout.write(settings.flag('json') ? `${JSON.stringify(stats)}\n` : table(stats))
  },
}

function table({ history, head, horizon, records, types, owners }: DatabaseStats): string {
  const facts = [
    ['history', history],
    ['head', head],
    ['horizon', horizon],
    ['records', records],
    ['owners', owners.count],
  ]
  const counts = types.map(({ t, records: count, owners: of }) => [
    `type ${t}`,
    `${pluralize(count, 'record')} of ${pluralize(of, 'owner')}`,
  ])
  const largest = owners.largest.map(({ owner, records: count }) => [
    `owner ${owner}`,
    pluralize(count, 'record'),
  ])
  const rows = [...facts, ...counts, ...largest].map(
    // Callers choose the names of types and owners, so they may contain control characters.
    ([name, value]) => [oneLine(String(name)), String(value)] as const,
  )
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}\n`).join('')
}
