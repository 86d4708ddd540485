import type { JsonValue } from '../../protocol/json.ts'
import { CommandError } from '../failure.ts'
import { parsed } from './ndjson.ts'
import type { Chunks, Numbered } from './numbered.ts'

interface Row {
  readonly line: number
  readonly cells: readonly string[]
}

interface Column {
  readonly name: string
  readonly read: (text: string) => JsonValue | undefined
}

/** What a cell may hold, said in the head of its column, as in `priority:number`. */
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
 * The records of a CSV file (RFC 4180) whose first row names the fields. A cell is text, unless the head of its column
 * says otherwise; an empty one is left out.
 */
export async function* readCsv(chunks: Chunks): AsyncGenerator<Numbered> {
  let columns: readonly Column[] | undefined
  for await (const { line, cells } of rowsOf(chunks)) {
    if (!columns) columns = cells.map(columnOf)
    else if (cells.length > 1 || cells[0] !== '') yield { line, ...recordOf(columns, cells) }
  }
}

function columnOf(head: string): Column {
  const [, name = '', kind = 'string'] = /^(.*?)(?::(string|number|boolean|json))?$/s.exec(head.trim()) ?? []
  const read = kinds[kind]
  if (name === '' || !read)
    throw new CommandError('The first line is to name each column, and one has no name.')
  return { name, read }
}

function recordOf(
  columns: readonly Column[],
  cells: readonly string[],
): { readonly record: unknown } | { readonly fault: string } {
  if (cells.length !== columns.length) {
    return { fault: `has ${cells.length} cells, where the first line names ${columns.length}` }
  }
  const fields: [string, JsonValue][] = []
  for (const [index, { name, read }] of columns.entries()) {
    const text = cells[index] ?? ''
    if (text === '') continue
    const value = read(text)
    if (value === undefined) return { fault: `has in the column ${name} what is not of its kind` }
    fields.push([name, value])
  }
  return { record: Object.fromEntries(fields) }
}

/** The rows of a CSV text. Within quotes, commas and ends of lines are text, and two quotes are one. */
async function* rowsOf(chunks: Chunks): AsyncGenerator<Row> {
  let cells: string[] = []
  let cell = ''
  let quoted = false
  let line = 1
  let begin = 1
  // What was last: a quote may end a cell or be the first of two, and `\r` belongs to the `\n` behind it.
  let last = ''
  for await (const chunk of chunks) {
    for (const char of chunk) {
      if (char === '"') {
        if (!quoted && last === '"') cell += '"'
        quoted = !quoted
      } else if (quoted) cell += char
      else if (char === ',') {
        cells.push(cell)
        cell = ''
      } else if (char === '\n') {
        cells.push(last === '\r' ? cell.slice(0, -1) : cell)
        yield { line: begin, cells }
        cells = []
        cell = ''
        begin = line + 1
      } else cell += char
      if (char === '\n') line += 1
      last = char
    }
  }
  if (quoted) throw new CommandError(`The quotes that open in the row on line ${begin} never close.`)
  if (cells.length > 0 || cell !== '') yield { line: begin, cells: [...cells, cell] }
}
