import type { JsonValue } from '../../protocol/json.ts'
import { CommandError } from '../failure.ts'
import { rowsOf } from './csv-rows.ts'
import { parsed } from './ndjson.ts'
import type { Chunks, NumberedRecord } from './numbered-record.ts'
import { isRounded, roundedIn } from './rounded.ts'

interface Column {
  readonly name: string
  readonly kind: string
  readonly read: (text: string) => JsonValue | undefined
}

/** The kinds of cells, as set in the head of a column like `priority:number`. */
const kinds: Readonly<Record<string, Column['read']>> = {
  string: (text) => text,
  number: (text) => (Number.isFinite(Number(text)) && text.trim() !== '' ? Number(text) : undefined),
  boolean: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  json: (text) => {
    const result = parsed(text)
    return 'record' in result ? (result.record as JsonValue) : undefined
  },
}

/**
 * Reads the records of a CSV file (RFC 4180) whose first row names the fields. A cell is a string unless the head of
 * its column sets another kind. Empty cells are left out.
 */
export async function* readCsv(chunks: Chunks): AsyncGenerator<NumberedRecord> {
  let columns: readonly Column[] | undefined
  for await (const { line, cells } of rowsOf(chunks)) {
    if (!columns) columns = columnsOf(cells)
    else if (cells.length > 1 || cells[0] !== '') yield { line, ...recordOf(columns, cells) }
  }
  if (!columns) throw unnamed()
}

function columnsOf(heads: readonly string[]): readonly Column[] {
  const [head = ''] = heads
  const separator = heads.length > 1 ? undefined : /[;\t]/.exec(head)?.[0]
  if (separator !== undefined) {
    const found = separator === ';' ? 'semicolons' : 'tabs'
    throw new CommandError(`Line 1 separates its names by ${found}; a CSV file separates cells by commas.`)
  }
  const columns = heads.map(columnOf)
  const names = columns.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new CommandError(`Line 1 names the column ${twice} twice.`)
  return columns
}

function columnOf(head: string): Column {
  const [, name = '', kind = 'string'] = /^(.*?)(?::([^:]*))?$/s.exec(head.trim()) ?? []
  if (name === '') throw unnamed()
  const read = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined
  if (read) return { name, kind, read }
  const expected = `${Object.keys(kinds).join(', ')}, like ${name}:boolean`
  throw new CommandError(
    `Line 1 sets the kind of the column ${name} to ${kind}; the kind must be one of ${expected}.`,
  )
}

function unnamed(): CommandError {
  return new CommandError('Line 1 must name each column, but one has no name.')
}

function recordOf(
  columns: readonly Column[],
  cells: readonly string[],
): { readonly record: unknown } | { readonly fault: string } {
  if (cells.length !== columns.length) {
    return { fault: `has ${cells.length} cells, but line 1 names ${columns.length} columns` }
  }
  const fields: [string, JsonValue][] = []
  for (const [index, { name, kind, read }] of columns.entries()) {
    const text = cells[index] ?? ''
    if (text === '') continue
    if ((kind === 'number' || kind === 'json') && roundedIn(text) !== undefined) return { fault: isRounded }
    const value = read(text)
    if (value === undefined)
      return { fault: `has a cell in the column ${name} that is not of the kind ${kind}` }
    fields.push([name, value])
  }
  return { record: Object.fromEntries(fields) }
}
