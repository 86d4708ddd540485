import { CommandError } from '../failure.ts'
import { parsed } from './ndjson.ts'
import type { Chunks, NumberedRecord } from './numbered-record.ts'

type Place = 'before' | 'first' | 'items' | 'after'

const isSpace = (char: string) => char === ' ' || char === '\n' || char === '\r' || char === '\t'

/**
 * Reads the items of a JSON array, each as soon as it is complete. Follows only strings and brackets; `JSON.parse`
 * checks the rest. Rejects if the file is not an array, or ends within one.
 */
export async function* readJson(chunks: Chunks): AsyncGenerator<NumberedRecord> {
  const item = new ItemFollower()
  let place = 'before' as Place
  let line = 1
  let begin = 1
  let held = ''
  for await (const chunk of chunks) {
    let from = 0
    for (let at = 0; at < chunk.length; at += 1) {
      const char = chunk.charAt(at)
      if (char === '\n') line += 1
      if (place === 'before' || place === 'after') {
        if (isSpace(char)) continue
        if (place === 'after' || char !== '[') throw noArray(line)
        place = 'first'
        from = at + 1
      } else if (item.isBetween(char)) {
        const text = held + chunk.slice(from, at)
        held = ''
        from = at + 1
        const isEmptyArray = place === 'first' && char === ']' && text.trim() === ''
        if (!isEmptyArray) yield { line: item.begun ? begin : line, ...parsed(text) }
        item.begun = false
        place = char === ']' ? 'after' : 'items'
      } else if (!item.begun && !isSpace(char)) {
        item.begun = true
        begin = line
      }
    }
    if (place === 'first' || place === 'items') held += chunk.slice(from)
  }
  if (place !== 'after') throw noArray(line)
}

/** Finds the `,` and `]` that separate and end the items of an array. */
class ItemFollower {
  begun = false
  #depth = 0
  #inString = false
  #escaped = false

  isBetween(char: string): boolean {
    if (this.#inString) {
      if (this.#escaped) this.#escaped = false
      else if (char === '\\') this.#escaped = true
      else if (char === '"') this.#inString = false
      return false
    }
    if (this.#depth === 0 && (char === ',' || char === ']')) return true
    if (char === '"') this.#inString = true
    else if (char === '{' || char === '[') this.#depth += 1
    else if (char === '}' || char === ']') this.#depth = Math.max(0, this.#depth - 1)
    return false
  }
}

function noArray(line: number): CommandError {
  return new CommandError(`The file must be one JSON array of records; line ${line} breaks it.`)
}
