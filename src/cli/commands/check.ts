import type { TableCheck } from '../../server/tables/check-tables.ts'
import type { Command } from '../command.ts'
import { CommandError, oneLine } from '../failure.ts'
import { pluralize } from '../pluralize.ts'
import { tablesOptions, withTables } from '../tables.ts'

export const check: Command = {
  name: 'check',
  about: 'Compares attached tables with the records that clients see.',
  options: {
    ...tablesOptions,
    repair: { about: 'Updates the records that differ from their rows; works only on the command line' },
  },
  notes: [
    'Changes that the service has not recorded yet are not an error. If something is wrong, the exit code is 1.',
  ],
  async run(settings, shell) {
    const repair = settings.flagInCommandLine('repair')
    const checks = await withTables(settings, shell, (log, { ownerField }) =>
      log.checkTables(ownerField, { repair }),
    )
    for (const each of checks) {
      shell.stdout.write(`${oneLine(sentenceOf(each))}\n`)
      for (const { id, reason } of each.aside)
        shell.stdout.write(`${oneLine(`${each.type} ${id} is set aside, and no client has it. ${reason}`)}\n`)
      if (each.asideCount > each.aside.length)
        shell.stdout.write(`${each.type}: ${pluralize(each.asideCount, 'row')} set aside in total.\n`)
    }
    const faults = checks.flatMap(({ type, fault }) => (fault === undefined ? [] : `${type}: ${fault}`))
    if (faults.length > 0) throw new CommandError(faults.join(' '))
    const differing = checks.reduce((sum, each) => sum + each.differing, 0)
    if (differing === 0) return
    if (!repair)
      throw new CommandError(
        `${pluralize(differing, 'record')} differ; \`--repair\` updates them from the rows.`,
      )
    shell.stdout.write(`${pluralize(differing, 'record')} repaired.\n`)
  },
}

function sentenceOf({ type, rows, waiting, differing, ids }: TableCheck): string {
  const which = differing === 0 ? '' : `: ${ids.join(', ')}${differing > ids.length ? ', …' : ''}`
  return `${type}: ${pluralize(rows, 'row')}, ${pluralize(waiting, 'change')} waiting, ${differing} differing${which}.`
}
