import { linesOf } from './lines.ts'
import type { Chunks, NumberedRecord } from './numbered-record.ts'
import { isRounded, roundedIn } from './rounded.ts'

/** Reads the records of a file with one JSON text per line. Empty lines are skipped. */
export async function* readNdjson(chunks: Chunks): AsyncGenerator<NumberedRecord> {
  let line = 0
  for await (const text of linesOf(chunks)) {
    line += 1
    if (text.trim() !== '') yield { line, ...parsed(text) }
  }
}

export function parsed(text: string): { readonly record: unknown } | { readonly fault: string } {
  try {
    const record: unknown = JSON.parse(text)
    return roundedIn(text) === undefined ? { record } : { fault: isRounded }
  } catch {
    return { fault: 'is not JSON' }
  }
}
