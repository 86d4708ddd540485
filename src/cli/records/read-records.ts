import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { extname } from 'node:path'
import { codeOf, toError } from '../../base/errors.ts'
import { CommandError, UsageError } from '../failure.ts'
import { readCsv } from './csv.ts'
import { readJson } from './json.ts'
import { readNdjson } from './ndjson.ts'
import type { Chunks, NumberedRecord } from './numbered-record.ts'

export const formats = ['json', 'ndjson', 'csv'] as const

export type Format = (typeof formats)[number]

const readers = { json: readJson, ndjson: readNdjson, csv: readCsv }

const endings: Readonly<Record<string, Format>> = {
  '.json': 'json',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.csv': 'csv',
}

/** A file of records, which can be read several times. */
export interface RecordFile {
  /** The size in bytes. */
  readonly size: number
  /**
   * Reads the records, holding one at a time in memory. `onBytes` is called with the size of each piece that is read.
   */
  records(onBytes?: (bytes: number) => void): AsyncIterable<NumberedRecord>
}

/**
 * Opens a file of records. Rejects with a CommandError if the file cannot be read, and with a UsageError if its format
 * is unknown.
 */
export async function recordFile(path: string, requested: Format | undefined): Promise<RecordFile> {
  const format = requested ?? endings[extname(path).toLowerCase()]
  if (!format) {
    const advice = `set \`--format\` to ${formats.join(', ')}`
    throw new UsageError(`The name ${path} does not show the format of the file; ${advice}.`)
  }
  const found = await stat(path).catch((error: unknown) => {
    throw codeOf(error) === 'ENOENT'
      ? new CommandError(`The file ${path} does not exist.`)
      : unreadable(path, error)
  })
  // A pipe cannot be read twice, and the file is read once to check it and once to write it.
  if (!found.isFile()) throw new CommandError(`${path} is not a file; name a file that contains the records.`)
  return { size: found.size, records: (onBytes = () => {}) => readers[format](textOf(path, onBytes)) }
}

/** Reads the text of a file in UTF-8, without a byte order mark. Rejects if the file is not in UTF-8. */
async function* textOf(path: string, onBytes: (bytes: number) => void): Chunks & AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const decoded = (bytes?: Uint8Array) => {
    try {
      return decoder.decode(bytes, { stream: bytes !== undefined })
    } catch {
      throw new CommandError(`The file ${path} is not in UTF-8.`)
    }
  }
  try {
    for await (const bytes of createReadStream(path, { highWaterMark: 256 * 1024 })) {
      onBytes(bytes.length)
      yield decoded(bytes)
    }
  } catch (error) {
    throw error instanceof CommandError ? error : unreadable(path, error)
  }
  yield decoded()
}

function unreadable(path: string, error: unknown): CommandError {
  return new CommandError(`The file ${path} cannot be read: ${toError(error).message}.`)
}
