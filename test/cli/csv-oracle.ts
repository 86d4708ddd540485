import type { Row } from '../../src/cli/records/csv-rows.ts'

const cell = /(?:"((?:[^"]|"")*)"(?!")|([^",\r\n]*))(,|\r?\n|$)/y
const openQuotes = /"(?:[^"]|"")*$/y
const beginning = /(?:"(?:[^"]|"")*"|[^",\r\n]*)/y

/** The rows of a whole CSV text up to its first fault, and that fault, by the grammar of RFC 4180. */
export function csvOracle(text: string): { readonly rows: readonly Row[]; readonly fault?: string } {
  const lineAt = (at: number) => text.slice(0, at).split('\n').length
  const rows: Row[] = []
  let cells: string[] = []
  let begin = 0
  for (let at = 0; at < text.length || cells.length > 0; ) {
    const [whole, quoted, plain = '', end] = matched(cell, text, at) ?? []
    if (whole === undefined) {
      if (matched(openQuotes, text, at)) {
        return { rows, fault: `The quotes that open in the row on line ${lineAt(begin)} never close.` }
      }
      const wrong = at + (matched(beginning, text, at)?.[0].length ?? 0)
      const fault =
        text[wrong] === '\r'
          ? 'ends with a carriage return alone; end lines with a line feed.'
          : 'has a quote inside a cell; put the whole cell in quotes, and double the quotes within it.'
      return { rows, fault: `Line ${lineAt(wrong)} ${fault}` }
    }
    cells.push(quoted?.replaceAll('""', '"') ?? plain)
    at += whole.length
    if (end === ',') continue
    rows.push({ line: lineAt(begin), cells })
    cells = []
    begin = at
  }
  return { rows }
}

function matched(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}
