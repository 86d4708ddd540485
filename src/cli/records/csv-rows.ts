import { CommandError } from '../failure.ts'
import { linesOf } from './lines.ts'
import type { Chunks } from './numbered-record.ts'

/** The cells of a row, and the line on which the row begins, from 1. */
export interface Row {
  readonly line: number
  readonly cells: readonly string[]
}

/**
 * Reads the rows of a CSV text. Within quotes, commas and line ends are text, and two quotes are one. Rejects for
 * anything that RFC 4180 does not define, since programs disagree about its meaning.
 */
export async function* rowsOf(chunks: Chunks): AsyncGenerator<Row> {
  let cells: string[] = []
  // The text of the open quotes so far, still with doubled quotes.
  let quoted: string | undefined
  let line = 0
  let begin = 1
  for await (const text of linesOf(chunks)) {
    line += 1
    const end = text.length - (text.endsWith('\r\n') ? 2 : text.endsWith('\n') ? 1 : 0)
    let at = 0
    while (at <= end) {
      if (quoted === undefined && text[at] !== '"') {
        const comma = text.indexOf(',', at)
        const cell = text.slice(at, comma < 0 ? end : comma)
        const invalidAt = cell.search(/["\r]/)
        if (invalidAt >= 0) throw misplaced(cell[invalidAt], line)
        cells.push(cell)
        at += cell.length + 1
      } else {
        const from = quoted === undefined ? at + 1 : at
        const close = closingQuote(text, from)
        quoted = (quoted ?? '') + text.slice(from, close)
        if (close === undefined) break
        const next = close + 1
        if (next < end && text[next] !== ',') throw misplaced(text[next], line)
        cells.push(quoted.replaceAll('""', '"'))
        quoted = undefined
        at = next + 1
      }
    }
    if (quoted === undefined) {
      yield { line: begin, cells }
      cells = []
      begin = line + 1
    }
  }
  if (quoted !== undefined) {
    throw new CommandError(`The quotes that open in the row on line ${begin} never close.`)
  }
}

/**
 * The index of the closing quote at or after `from`; `undefined` if it is on a later line. Two quotes in a row are
 * text.
 */
function closingQuote(text: string, from: number): number | undefined {
  let at = text.indexOf('"', from)
  while (at >= 0 && text[at + 1] === '"') at = text.indexOf('"', at + 2)
  return at < 0 ? undefined : at
}

function misplaced(char: string | undefined, line: number): CommandError {
  return new CommandError(
    char === '\r'
      ? `Line ${line} ends with a carriage return alone; end lines with a line feed.`
      : `Line ${line} has a quote inside a cell; put the whole cell in quotes, and double the quotes within it.`,
  )
}
