import type { Chunks } from './numbered.ts'

/**
 * The lines of a text, each with the `\n` that ends it, which the last may lack. By `\n` alone: JSON may hold the other
 * characters that end a line.
 */
export async function* linesOf(chunks: Chunks): AsyncGenerator<string> {
  let begun: string[] = []
  for await (const chunk of chunks) {
    let from = 0
    for (let to = chunk.indexOf('\n') + 1; to > 0; to = chunk.indexOf('\n', from) + 1) {
      begun.push(chunk.slice(from, to))
      yield begun.join('')
      begun = []
      from = to
    }
    begun.push(chunk.slice(from))
  }
  const last = begun.join('')
  if (last !== '') yield last
}
