/** The bytes that form the structure of JSON. In UTF-8 none of them is part of another character. */
export const lineFeed = 0x0a
const quote = 0x22
export const comma = 0x2c
export const colon = 0x3a
export const openBracket = 0x5b
const backslash = 0x5c
export const closeBracket = 0x5d
export const openBrace = 0x7b
export const closeBrace = 0x7d

/** Whether `byte` is white space of JSON (RFC 8259, section 2). */
export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === lineFeed || byte === 0x0d || byte === 0x09
}

/**
 * Finds the end of one JSON value in bytes that come in chunks, by its strings and brackets alone. `JSON.parse` has to
 * check whether the value is JSON.
 */
export class ValueFollower {
  /** The depth of the value so far, itself counted. To be reset to 0 for the next value. */
  deepest = 0
  #depth = 0
  #inString = false
  /** The number of bytes of the next chunk that the end of the last one escapes: 0 or 1. */
  #escaped = 0

  /**
   * The index of the `,`, `:`, `]` or `}` after the value, or the end of `bytes` if the value continues in the next
   * chunk.
   */
  follow(bytes: Uint8Array, from: number): number {
    const { length } = bytes
    let depth = this.#depth
    let at = from
    if (this.#inString) at = endOfString(bytes, from + this.#escaped) + 1
    for (; at < length; at += 1) {
      const byte = bytes[at] ?? 0
      if (byte === quote) at = endOfString(bytes, at + 1)
      else if (byte < openBracket) {
        if (depth === 0 && (byte === comma || byte === colon)) break
      } else if (byte === openBrace || byte === openBracket) {
        depth += 1
        if (depth > this.deepest) this.deepest = depth
      } else if (byte === closeBrace || byte === closeBracket) {
        if (depth === 0) break
        depth -= 1
      }
    }
    this.#depth = depth
    // `at` exceeds the length by 1 if a string continues in the next chunk, by 2 if that string ends here in a
    // backslash.
    this.#inString = at > length
    this.#escaped = this.#inString ? at - length - 1 : 0
    return Math.min(at, length)
  }
}

/**
 * The number of bytes to check one by one: in a short string, starting the engine's search costs more than it saves.
 */
const shortString = 32

/**
 * The index of the quote that ends the string which contains `from`. Without an end: the length of `bytes`, plus 1 if a
 * backslash ends them.
 */
function endOfString(bytes: Uint8Array, from: number): number {
  let at = from
  const shortEnd = Math.min(bytes.length, from + shortString)
  while (at < shortEnd && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1
  if (at < shortEnd || at >= bytes.length) return at
  return endOfLongString(bytes, at)
}

/** As {@link endOfString}, for a long string. */
function endOfLongString(bytes: Uint8Array, from: number): number {
  for (let at = from; ; at += 1) {
    const found = bytes.indexOf(quote, at)
    const end = found < 0 ? bytes.length : found
    let escapes = end
    while (escapes > from && bytes[escapes - 1] === backslash) escapes -= 1
    const escaped = (end - escapes) % 2
    if (found < 0) return end + escaped
    if (escaped === 0) return end
    at = end
  }
}
