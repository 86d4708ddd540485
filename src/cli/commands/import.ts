import { resolveEnvironment } from '../../base/environment.default.ts'
import { isStorableName } from '../../protocol/json-copy.ts'
import type { TxOp } from '../../protocol/tx.ts'
import { ownershipJudge } from '../../server/log/ownership.ts'
import { WriteRejectedError } from '../../server/log/rejection.ts'
import type { Command } from '../command.ts'
import { lastingDatabaseIn, lastingDatabaseOption, openLog, withCommandErrors } from '../database.ts'
import { CommandError, oneLine, sentenceOf, UsageError } from '../failure.ts'
import { untilSignal } from '../listen.ts'
import { loggerIn, logOptions } from '../log.ts'
import { maxRecordBytesIn, maxRecordBytesOption } from '../max-record-bytes.ts'
import { ownerFieldIn, ownerFieldOption } from '../owner-field.ts'
import { pluralize } from '../pluralize.ts'
import { Progress } from '../progress.ts'
import { Ids } from '../records/ids.ts'
import type { NumberedRecord } from '../records/numbered-record.ts'
import { formats, type RecordFile, recordFile } from '../records/read-records.ts'
import { notStorable, type OpRules, toOp } from '../records/to-op.ts'
import { configOption, type Settings } from '../settings.ts'
import type { Output, Shell } from '../shell.ts'

/** The maximum number of records in a batch. A batch is written completely or not at all. */
const recordsPerBatch = 1_000

/** The length of a batch as JSON, in UTF-16 units, after which the next one begins. */
const lengthPerBatch = 4_194_304

/** The maximum number of faulty lines that are shown. */
const maxFaults = 20

export const importRecords: Command = {
  name: 'import',
  about: 'Writes the records of a file into a database. If a line is wrong, nothing is written.',
  arguments: [
    {
      name: 'file',
      about: 'A JSON array, one JSON record per line, or CSV whose first line names the fields',
    },
  ],
  options: {
    database: lastingDatabaseOption,
    type: { about: 'The type of the records', value: 'name' },
    format: { about: 'json, ndjson or csv (by the extension of the file)', value: 'format' },
    'owner-field': ownerFieldOption,
    owner: { about: 'The owner of records that do not name one', value: 'id' },
    'id-field': { about: 'The field that holds the id (id)', value: 'name' },
    'max-record-bytes': maxRecordBytesOption,
    replace: { about: 'Replaces existing records, including those of other owners' },
    ...logOptions,
    config: configOption,
  },
  notes: [
    'In CSV, the head of a column may set the kind of its cells: string, number, boolean, json, as in done:boolean.\n' +
      'Empty cells are left out.',
    'With --replace, a record of another owner moves to the owner that the file or --owner names.',
  ],
  async run(settings, shell) {
    const path = settings.argument(0, 'file')
    const name = lastingDatabaseIn(settings)
    const rules = rulesIn(settings)
    const file = await recordFile(path, settings.oneOf('format', formats))
    const logger = await loggerIn(settings, shell)
    const progress = new Progress(shell.stderr, resolveEnvironment().clock)
    const records = readBy(file, progress, shell)
    const checking = records('Checking', 'The import was interrupted; nothing was written.')
    await check(checking, rules, progress, shell.stderr)
    const log = await openLog(name, { logger })
    const { ownerField, maxRecordBytes } = rules
    const judge = ownershipJudge({ ownerField, maxRecordBytes, models: undefined })
    const store = (ops: readonly TxOp[]) => withCommandErrors(name, () => log.write(ops, judge))
    try {
      await withCommandErrors(name, () => log.claim(ownerField))
      const count = await write(records('Writing', 'The import was interrupted.'), rules, store)
      await withCommandErrors(name, () => log.analyze())
      const { head } = await log.position()
      shell.stdout.write(`${pluralize(count, 'record')} written; the database is at ${head}.\n`)
    } finally {
      await log.close()
    }
  },
}

type Read = (doing: string, ended: string) => AsyncIterable<NumberedRecord>

/**
 * Returns a function that reads the records of `file` and shows the progress. After a signal to end, reading rejects
 * with `ended`.
 */
function readBy(file: RecordFile, progress: Progress, shell: Shell): Read {
  let isEnding = false
  void untilSignal(shell).then(() => {
    isEnding = true
  })
  return async function* (doing, ended) {
    let read = 0
    const records = file.records((bytes) => {
      read += bytes
    })
    try {
      for await (const numbered of records) {
        if (isEnding) throw new CommandError(ended)
        progress.show(doing, read, file.size)
        yield numbered
      }
    } finally {
      progress.clear()
    }
  }
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
  throw new UsageError(`\`--${option}\` ${notStorable}; choose another.`)
}

/** Reads the whole file and reports faulty lines. Rejects if there are any. */
async function check(
  records: AsyncIterable<NumberedRecord>,
  rules: OpRules,
  progress: Progress,
  output: Output,
): Promise<void> {
  const ids = new Ids()
  const faultOf = (result: TxOp | string, line: number) => {
    if (typeof result === 'string') return result
    // With `--replace`, a later record of the file may replace an earlier one.
    const before = rules.replace ? undefined : ids.add(result.id, line)
    return before === undefined ? undefined : `has the same id as the record on line ${before}`
  }
  let faults = 0
  for await (const numbered of records) {
    const fault = faultOf(toOp(numbered, rules), numbered.line)
    if (fault === undefined) continue
    faults += 1
    if (faults > maxFaults) continue
    progress.clear()
    output.write(`${oneLine(`Line ${numbered.line}: the record ${fault}.`)}\n`)
  }
  if (faults === 0) return
  const rest = faults > maxFaults ? `, of which the first ${maxFaults} are shown` : ''
  throw new CommandError(
    `Nothing was written: ${pluralize(faults, 'record')} ${faults === 1 ? 'is' : 'are'} wrong${rest}.`,
  )
}

/**
 * Writes the records, which {@link check} has accepted, with `store`. Resolves with the number of records. An error
 * says how many records were written before it.
 */
async function write(
  records: AsyncIterable<NumberedRecord>,
  rules: OpRules,
  store: (ops: readonly TxOp[]) => Promise<unknown>,
): Promise<number> {
  let batch: TxOp[] = []
  let length = 0
  let first = 1
  let line = 1
  let written = 0
  const flush = async () => {
    if (batch.length > 0) await store(batch)
    written += batch.length
    batch = []
    length = 0
  }
  try {
    for await (const numbered of records) {
      const op = toOp(numbered, rules)
      if (typeof op === 'string')
        throw new CommandError(`Line ${numbered.line} has changed since the check: the record ${op}.`)
      if (batch.length === 0) first = numbered.line
      line = numbered.line
      batch.push(op)
      length += JSON.stringify(op).length
      if (batch.length === recordsPerBatch || length >= lengthPerBatch) await flush()
    }
    await flush()
  } catch (error) {
    const isRefused = error instanceof WriteRejectedError
    const where = isRefused ? `Line${first === line ? ` ${first}` : `s ${first} to ${line}`}: ` : ''
    const before = `Before that, ${pluralize(written, 'record')} ${written === 1 ? 'was' : 'were'} written.`
    const advice =
      isRefused && error.reason !== 'exists' ? '' : ' To continue, run it again with `--replace`.'
    throw new CommandError(`${where}${sentenceOf(error)} ${before}${advice}`, { cause: error })
  }
  return written
}
