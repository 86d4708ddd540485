import type { Chunks } from './numbered-record.ts'

/**
 * Reads the lines of a text, each with its `\n`, which the last line may lack. Only `\n` ends a line: JSON may contain
 * the other line separators.
 */
export async function* linesOf(chunks: Chunks): AsyncGenerator<string> {
  let parts: string[] = []
  for await (const chunk of chunks) {
    let from = 0
    for (let to = chunk.indexOf('\n') + 1; to > 0; to = chunk.indexOf('\n', from) + 1) {
      parts.push(chunk.slice(from, to))
      yield parts.join('')
      parts = []
      from = to
    }
    parts.push(chunk.slice(from))
  }
  const last = parts.join('')
  if (last !== '') yield last
}
