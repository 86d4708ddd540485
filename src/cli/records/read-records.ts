import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { extname } from 'node:path'
import { codeOf, toError } from '../../base/errors.ts'
import { CommandError, UsageError } from '../failure.ts'
import { readCsv } from './csv.ts'
import { readJson } from './json.ts'
import { readNdjson } from './ndjson.ts'
import type { Chunks, Numbered } from './numbered.ts'

export const formats = ['json', 'ndjson', 'csv'] as const

export type Format = (typeof formats)[number]

const readers = { json: readJson, ndjson: readNdjson, csv: readCsv }

const endings: Readonly<Record<string, Format>> = {
  '.json': 'json',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.csv': 'csv',
}

/** A file of records, which can be read more than once. */
export interface RecordFile {
  /** In bytes. */
  readonly size: number
  /** Its records, with room for one of them; `onBytes` is told how many bytes were read. */
  records(onBytes?: (bytes: number) => void): AsyncIterable<Numbered>
}

/** Rejects with a CommandError where the file cannot be read, and with a UsageError where its format is not known. */
export async function recordFile(path: string, given: Format | undefined): Promise<RecordFile> {
  const format = given ?? endings[extname(path).toLowerCase()]
  if (!format) {
    const advice = `say by \`--format\`: ${formats.join(', ')}`
    throw new UsageError(`The name ${path} does not tell its format; ${advice}.`)
  }
  const found = await stat(path).catch((error: unknown) => {
    throw codeOf(error) === 'ENOENT'
      ? new CommandError(`The file ${path} is not there.`)
      : unreadable(path, error)
  })
  // It is read twice, once to check it.
  if (!found.isFile()) throw new CommandError(`${path} is no file; give one with the records in it.`)
  return { size: found.size, records: (onBytes = () => {}) => readers[format](textOf(path, onBytes)) }
}

/** The text of a file in UTF-8, without a byte order mark. Rejects where it is not UTF-8. */
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
