/** The bytes that mean something to the structure of JSON. In UTF-8 none of them is part of another character. */
export const lineFeed = 0x0a
const quote = 0x22
export const comma = 0x2c
export const colon = 0x3a
export const openBracket = 0x5b
const backslash = 0x5c
export const closeBracket = 0x5d
export const openBrace = 0x7b
export const closeBrace = 0x7d

/** White space as JSON knows it (RFC 8259, section 2). */
export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === lineFeed || byte === 0x0d || byte === 0x09
}

/**
 * Follows one JSON value through bytes that come in chunks, by its strings and brackets alone. Whether the value is
 * JSON is for `JSON.parse` to say.
 */
export class ValueFollower {
  /** How deep the value nests, itself counted, as far as it was followed. To be set to 0 for the next value. */
  deepest = 0
  #depth = 0
  #inString = false
  /** How many bytes of the next chunk are escaped by the end of the last: 0 or 1. */
  #escaped = 0

  /** The place of the `,`, `:`, `]` or `}` behind the value, or the end of `bytes` where that is to come. */
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
    // Past its end by one: an unfinished string went on. By two: so did a backslash in it.
    this.#inString = at > length
    this.#escaped = this.#inString ? at - length - 1 : 0
    return Math.min(at, length)
  }
}

/** So far is looked at byte by byte: in a short string, the engine's search takes longer to begin than to find. */
const shortString = 32

/** Where the string ends in which `at` is. Without an end: the length of `bytes`, and 1 more behind a backslash. */
function endOfString(bytes: Uint8Array, from: number): number {
  let at = from
  const near = Math.min(bytes.length, from + shortString)
  while (at < near && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1
  if (at < near || at >= bytes.length) return at
  return endOfLongString(bytes, at)
}

/** As {@link endOfString}, for one that is long. */
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
