import { ProtocolError } from '../base/errors.ts'
import { notJson } from '../protocol/envelope.ts'
import { maxDepth } from '../protocol/json.ts'
import { ByteBuffer } from './byte-buffer.ts'
import { type Cut, snapshot } from './cut.ts'
import { closeBracket, comma, lineFeed, openBracket, ValueFollower } from './value-follower.ts'

/** A slice ends with the row that makes it this long: in rows, or in bytes. */
const sliceRows = 1000
const sliceBytes = 256 * 1024

/** A row that is no longer than this, in bytes, is not too deep: each level takes two. */
const shallowBytes = 2 * maxDepth

/** Takes a slice, a JSON array: `bytes` are good until it returns. */
export type TakeCut = (bytes: ByteBuffer, cut: Cut) => void

const arrayStart = Uint8Array.of(openBracket)
const arrayEnd = Uint8Array.of(closeBracket)

/** Cuts the array of rows, behind its `[`, into slices. Keeps the bytes of one slice and one row. */
export class RowSlicer {
  /** Whether the array's `]` has come. */
  ended = false
  /** How many rows came in slices. */
  rows = 0
  /** Whether a line feed is said to stand behind each row, and in none: a row for which it does need not be followed. */
  inLines = false
  readonly #maxRowBytes: number
  readonly #onCut: TakeCut
  readonly #follower = new ValueFollower()
  /** The present slice: `[`, whole rows and the beginning of the next; how many are whole, what was left out. */
  readonly #bytes = new ByteBuffer()
  #whole = 0
  #broken: string[] = []
  /** How much of the present row has passed, and how many items came before it. */
  #rowBytes = 0
  #items = 0
  /** The next line feed of what is read, as far as it was looked for. */
  #feed = -1

  constructor(maxRowBytes: number, onCut: TakeCut) {
    this.#maxRowBytes = maxRowBytes
    this.#onCut = onCut
    this.#bytes.append(arrayStart)
  }

  /** Reads `bytes` from `from` on, and gives the place behind the array, or the end of `bytes`. */
  read(bytes: Uint8Array, from: number): number {
    // What is before `kept` is in the buffer: it goes there in one piece for many rows, not in one for each.
    let kept = from
    let at = from
    this.#feed = -1
    while (!this.ended) {
      const end = this.#endOf(bytes, at)
      this.#grow(end - at)
      if (end === bytes.length) {
        this.#bytes.append(bytes.subarray(kept))
        return end
      }
      this.#expectDelimiter(bytes[end])
      if (this.#follower.deepest > maxDepth) {
        this.#leaveOut(bytes.subarray(kept, end))
        // The comma behind it stands in for the one before it, unless there was none.
        kept = this.#bytes.length > 1 ? end : end + 1
      } else this.#whole += 1
      this.#items += 1
      this.#rowBytes = 0
      this.#follower.deepest = 0
      if (this.ended || this.#isFull(end - kept)) {
        this.#bytes.append(bytes.subarray(kept, end))
        this.#cut()
        kept = end + 1
      }
      at = end + 1
    }
    return at
  }

  /** The place of the delimiter behind the row, or the end of `bytes` where that is to come. */
  #endOf(bytes: Uint8Array, at: number): number {
    if (!this.inLines || this.#rowBytes > 0) return this.#follower.follow(bytes, at)
    if (this.#feed < at) {
      const found = bytes.indexOf(lineFeed, at)
      this.#feed = found < 0 ? bytes.length : found
    }
    const behind = this.#feed + 1
    const isLine = this.#feed - at <= shallowBytes && isDelimiter(bytes[behind])
    return isLine ? behind : this.#follower.follow(bytes, at)
  }

  #grow(bytes: number): void {
    this.#rowBytes += bytes
    if (this.#rowBytes <= this.#maxRowBytes) return
    const message = `A row is longer than ${this.#maxRowBytes} bytes; split it into several records.`
    throw new ProtocolError('row_too_large', message, { retryable: false })
  }

  #expectDelimiter(byte: number | undefined): void {
    if (!isDelimiter(byte)) throw notJson(snapshot)
    this.ended = byte === closeBracket
  }

  /** Drops the row that ended just now, of which `rest` is not in the buffer yet, and the comma before it. */
  #leaveOut(rest: Uint8Array): void {
    this.#bytes.append(rest)
    this.#bytes.truncate(Math.max(1, this.#bytes.length - this.#rowBytes - 1))
    this.#broken.push(`a row nests deeper than ${maxDepth} levels`)
  }

  #isFull(moreBytes: number): boolean {
    return this.#whole + this.#broken.length >= sliceRows || this.#bytes.length + moreBytes >= sliceBytes
  }

  #cut(): void {
    const isEmptyArray = this.ended && this.#items === 1 && this.#bytes.isBlank(1)
    const items = isEmptyArray ? 0 : this.#whole
    const broken = this.#broken
    this.#whole = 0
    this.#broken = []
    this.rows += items
    this.#bytes.append(arrayEnd)
    if (items + broken.length > 0) this.#onCut(this.#bytes, { items, broken })
    this.#bytes.truncate(0)
    this.#bytes.append(arrayStart)
  }
}

function isDelimiter(byte: number | undefined): boolean {
  return byte === comma || byte === closeBracket
}
