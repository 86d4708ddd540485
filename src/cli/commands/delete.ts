import { ownershipJudge } from '../../server/log/ownership.ts'
import { removeOwner } from '../../server/remove-owner.ts'
import type { Command } from '../command.ts'
import { lastingDatabaseOption } from '../database.ts'
import { UsageError } from '../failure.ts'
import { logOptions } from '../log.ts'
import { ownerFieldIn, ownerFieldOption } from '../owner-field.ts'
import { pluralize } from '../pluralize.ts'
import { withPresentLog } from '../present-log.ts'
import { noSuchRecord, recordArguments, recordNamedIn } from '../record-arguments.ts'
import { configOption, type Settings } from '../settings.ts'
import type { Shell } from '../shell.ts'

export const deleteRecords: Command = {
  name: 'delete',
  about: 'Deletes a record, or everything of an owner. Clients remove it, too.',
  arguments: recordArguments,
  options: {
    database: lastingDatabaseOption,
    owner: { about: 'The owner whose records to delete; works only on the command line', value: 'id' },
    all: { about: 'Confirms that everything of --owner is deleted; works only on the command line' },
    user: { about: 'The user whose results are deleted with --owner (the owner, for userId)', value: 'id' },
    'owner-field': ownerFieldOption,
    ...logOptions,
    config: configOption,
  },
  notes: [
    'Usage for an owner: instep delete --owner=<id> --all\n' +
      'This also deletes the fields of earlier changes, and the results of the transactions of the user.\n' +
      'If it is interrupted, run it again.',
  ],
  async run(settings, shell) {
    const owner = settings.valueInCommandLine('owner')
    if (owner !== undefined) return deleteOwner(owner, settings, shell)
    if (settings.flagInCommandLine('all'))
      throw new UsageError('`--all` needs `--owner` in the command line.')
    const [type, id] = recordNamedIn(settings)
    const judge = ownershipJudge({ ownerField: ownerFieldIn(settings), models: undefined })
    await withPresentLog(settings, shell, async (log) => {
      if (!(await log.read(type, id))) throw noSuchRecord(type, id)
      await log.write([{ op: 'd', t: type, id }], judge)
    })
    shell.stdout.write('1 record deleted.\n')
  },
}

async function deleteOwner(owner: string, settings: Settings, shell: Shell): Promise<void> {
  if (settings.args.length > 0)
    throw new UsageError('Name a record, or `--owner` with `--all`, but not both.')
  if (!settings.flagInCommandLine('all')) {
    throw new UsageError('`--all` is missing; it confirms that everything of the owner is deleted.')
  }
  const ownerField = ownerFieldIn(settings)
  const userId = settings.valueInCommandLine('user') ?? (ownerField === 'userId' ? owner : undefined)
  const count = await withPresentLog(settings, shell, async (log) => {
    await log.claim(ownerField)
    return removeOwner(log, { owner, userId })
  })
  shell.stdout.write(`${pluralize(count, 'record')} deleted.\n`)
}
