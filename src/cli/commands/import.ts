import { resolveWorld } from '../../base/world.default.ts'
import { isStorableName } from '../../protocol/json-copy.ts'
import type { TxOp } from '../../protocol/tx.ts'
import { ownershipJudge } from '../../server/log/ownership.ts'
import { WriteRejectedError } from '../../server/log/rejection.ts'
import type { SqlLog } from '../../server/log/sql/sql-log.ts'
import type { Command } from '../command.ts'
import { counted } from '../counted.ts'
import { lastingDatabaseIn, lastingDatabaseOption, openLog, reaching } from '../database.ts'
import { CommandError, oneLine, UsageError } from '../failure.ts'
import { loggerIn, logOptions } from '../log.ts'
import { maxRecordBytesIn, maxRecordBytesOption } from '../max-record-bytes.ts'
import { ownerFieldIn, ownerFieldOption } from '../owner-field.ts'
import { Progress } from '../progress.ts'
import { Ids } from '../records/ids.ts'
import { formats, type RecordFile, recordFile } from '../records/read-records.ts'
import { notStorable, type OpRules, toOp } from '../records/to-op.ts'
import { configOption, type Settings } from '../settings.ts'
import type { Output } from '../shell.ts'

/** How many records are written at once at most: all of them, or none. */
const recordsPerBatch = 1_000

/** How long they are together as JSON, in UTF-16 units, once the next record begins another batch. */
const lengthPerBatch = 4_194_304

/** More lines than these are counted, and not told of one by one. */
const mostFaults = 20

export const importRecords: Command = {
  name: 'import',
  about: 'Writes the records of a file into a database. Nothing is written where a line is wrong.',
  argument: {
    name: 'file',
    about: 'A JSON array, one JSON record a line, or CSV with a first line of names',
  },
  options: {
    database: lastingDatabaseOption,
    type: { about: 'The type of the records', value: 'name' },
    format: { about: 'json, ndjson or csv (by the ending of the file)', value: 'format' },
    'owner-field': ownerFieldOption,
    owner: { about: 'Whose a record is that does not name its owner', value: 'id' },
    'id-field': { about: 'The field that holds the id (id)', value: 'name' },
    'max-record-bytes': maxRecordBytesOption,
    replace: { about: 'Replaces records that are there already, those of other owners too' },
    ...logOptions,
    config: configOption,
  },
  notes: [
    'In CSV, the head of a column may say what its cells hold: string, number, boolean or json, as in done:boolean.\n' +
      'An empty cell is left out.',
    'With --replace, a record of another owner goes to the one that the file, or --owner, names.',
  ],
  async run(settings, shell) {
    if (settings.argument === undefined) throw new UsageError('The file to import is missing.')
    const name = lastingDatabaseIn(settings)
    const rules = rulesIn(settings)
    const file = await recordFile(settings.argument, settings.oneOf('format', formats))
    const logger = await loggerIn(settings, shell)
    const progress = new Progress(shell.stderr, resolveWorld().clock)
    await check(file, rules, progress, shell.stderr)
    const log = await openLog(name, { logger })
    try {
      const count = await reaching(name, () => write(file, rules, log, progress))
      const { head } = await log.position()
      shell.stdout.write(`${counted(count, 'record')} written; the database is at ${head}.\n`)
    } finally {
      await log.close()
    }
  },
}

function rulesIn(settings: Settings): OpRules {
  const owner = settings.text('owner')
  return {
    type: nameOf('type', settings.required('type', 'the type of the records')),
    idField: settings.text('id-field') ?? 'id',
    ownerField: ownerFieldIn(settings),
    owner: owner === undefined ? undefined : nameOf('owner', owner),
    maxRecordBytes: maxRecordBytesIn(settings),
    replace: settings.flag('replace'),
  }
}

function nameOf(option: string, text: string): string {
  if (isStorableName(text)) return text
  throw new UsageError(`\`--${option}\` ${notStorable}; give another.`)
}

/** Reads the whole file, and tells of every line that is wrong. Rejects where there is one. */
async function check(file: RecordFile, rules: OpRules, progress: Progress, output: Output): Promise<void> {
  const ids = new Ids()
  const faultOf = (result: TxOp | string, line: number) => {
    if (typeof result === 'string') return result
    // One that replaces may replace what the file itself has written.
    const before = rules.replace ? undefined : ids.add(result.id, line)
    return before === undefined ? undefined : `has the id of the one on line ${before}`
  }
  let faults = 0
  let read = 0
  const records = file.records((bytes) => {
    read += bytes
  })
  for await (const numbered of records) {
    progress.show('Checking', read, file.size)
    const fault = faultOf(toOp(numbered, rules), numbered.line)
    if (fault === undefined) continue
    faults += 1
    if (faults > mostFaults) continue
    progress.clear()
    output.write(`${oneLine(`Line ${numbered.line}: the record ${fault}.`)}\n`)
  }
  progress.clear()
  if (faults === 0) return
  const rest = faults > mostFaults ? `, of which the first ${mostFaults} are shown` : ''
  throw new CommandError(
    `Nothing was written: ${counted(faults, 'record')} ${faults === 1 ? 'is' : 'are'} wrong${rest}.`,
  )
}

/** Writes what {@link check} has let pass. Resolves with the number of records. */
async function write(file: RecordFile, rules: OpRules, log: SqlLog, progress: Progress): Promise<number> {
  const { ownerField, maxRecordBytes } = rules
  const judge = ownershipJudge({ ownerField, maxRecordBytes, models: undefined })
  let batch: TxOp[] = []
  let length = 0
  let first = 1
  let written = 0
  let read = 0
  const flush = async (last: number) => {
    try {
      if (batch.length > 0) await log.write(batch, judge)
    } catch (error) {
      if (!(error instanceof WriteRejectedError)) throw error
      const where = first === last ? `Line ${first}` : `Lines ${first} to ${last}`
      throw new CommandError(
        `${where}: ${error.message} Of those before, ${counted(written, 'record')} ${written === 1 ? 'was' : 'were'} written.${advice(error)}`,
      )
    } finally {
      progress.clear()
    }
    written += batch.length
    batch = []
    length = 0
  }
  const records = file.records((bytes) => {
    read += bytes
  })
  let line = 1
  for await (const numbered of records) {
    const op = toOp(numbered, rules)
    if (typeof op === 'string')
      throw new CommandError(`Line ${numbered.line} has changed meanwhile: it ${op}.`)
    if (batch.length === 0) first = numbered.line
    line = numbered.line
    batch.push(op)
    length += JSON.stringify(op).length
    progress.show('Writing', read, file.size)
    if (batch.length === recordsPerBatch || length >= lengthPerBatch) await flush(line)
  }
  await flush(line)
  return written
}

function advice({ reason }: WriteRejectedError): string {
  return reason === 'exists' ? ' With `--replace` it goes on.' : ''
}
