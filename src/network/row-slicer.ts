import { ProtocolError } from '../base/errors.ts'
import { notJson } from '../protocol/envelope.ts'
import { maxDepth } from '../protocol/json.ts'
import { tooDeep } from '../protocol/row.ts'
import { ByteBuffer } from './byte-buffer.ts'
import { type RawSlice, snapshot } from './raw-slice.ts'
import { closeBracket, comma, lineFeed, openBracket, ValueFollower } from './value-follower.ts'

/** A slice ends with the row that brings it to this many rows or bytes. */
const sliceRows = 1000
const sliceBytes = 256 * 1024

/** Receives a slice, a JSON array. `bytes` are valid until the function returns. */
export type OnSlice = (bytes: ByteBuffer, cut: RawSlice) => void

const arrayStart = Uint8Array.of(openBracket)
const arrayEnd = Uint8Array.of(closeBracket)

/** Cuts the array of rows, from after its `[`, into slices. Keeps the bytes of one slice and one row. */
export class RowSlicer {
  /** Whether the `]` of the array was read. */
  ended = false
  /** Whether the snapshot says that a line feed follows each row, and occurs nowhere else. */
  inLines = false
  readonly #maxRowBytes: number
  readonly #onSlice: OnSlice
  readonly #follower = new ValueFollower()
  /** The current slice: `[`, whole rows and the start of the next row. */
  readonly #bytes = new ByteBuffer()
  #whole = 0
  /** Whether the slice has rows that were skipped by line feeds and not counted. */
  #jumped = false
  #broken: string[] = []
  /** The bytes of the current row so far, and the number of items before it. */
  #rowBytes = 0
  #items = 0

  constructor(maxRowBytes: number, onSlice: OnSlice) {
    this.#maxRowBytes = maxRowBytes
    this.#onSlice = onSlice
    this.#bytes.append(arrayStart)
  }

  /** Reads `bytes` from `from` on. Returns the index after the array, or the end of `bytes`. */
  read(bytes: Uint8Array, from: number): number {
    // Bytes before `kept` are in the buffer. They are appended in one piece for many rows, not in one for each.
    let kept = from
    let at = from
    const lines = this.inLines ? endOfLines(bytes) : from
    while (!this.ended) {
      if (this.#rowBytes === 0 && lines > at) {
        // Parsing the slice checks that these are rows. If the slice ends within a row, a bracket or a quote stays
        // open, and the slice is not JSON. If all slices are JSON and none is empty, together they are the whole array.
        at = lines
        this.#jumped = true
      }
      const end = this.#follower.follow(bytes, at)
      this.#grow(end - at)
      if (end === bytes.length) {
        this.#bytes.append(bytes.subarray(kept))
        return end
      }
      this.#expectDelimiter(bytes[end])
      if (this.#follower.deepest > maxDepth) {
        this.#leaveOut(bytes.subarray(kept, end))
        // The comma after the row replaces the one before it, unless there was none.
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

  #grow(bytes: number): void {
    this.#rowBytes += bytes
    if (this.#rowBytes <= this.#maxRowBytes) return
    const message = `A row is longer than ${this.#maxRowBytes} bytes; split it into several records.`
    throw new ProtocolError('row_too_large', message, { retryable: false })
  }

  #expectDelimiter(byte: number | undefined): void {
    this.ended = byte === closeBracket
    if (!this.ended && byte !== comma) throw notJson(snapshot)
  }

  /**
   * Removes the row that has just ended, and the comma before it. `rest`: the bytes of the row that are not in the
   * buffer yet.
   */
  #leaveOut(rest: Uint8Array): void {
    this.#bytes.append(rest)
    this.#bytes.truncate(Math.max(1, this.#bytes.length - this.#rowBytes - 1))
    this.#broken.push(tooDeep)
  }

  #isFull(moreBytes: number): boolean {
    return this.#whole + this.#broken.length >= sliceRows || this.#bytes.length + moreBytes >= sliceBytes
  }

  #cut(): void {
    const isEmptyArray = this.ended && this.#items === 1 && this.#bytes.isBlank(1)
    const whole = isEmptyArray ? 0 : this.#whole
    const items = this.#jumped ? undefined : whole
    const broken = this.#broken
    this.#whole = 0
    this.#jumped = false
    this.#broken = []
    this.#bytes.append(arrayEnd)
    if (items !== 0 || broken.length > 0) this.#onSlice(this.#bytes, { items, broken })
    this.#bytes.truncate(0)
    this.#bytes.append(arrayStart)
  }
}

/**
 * Returns the index of the `,` that follows the last complete row, or -1. A row is complete if a line feed and a `,`
 * follow it. If no `,` follows the last line feed, the row before counts: that line feed may end the array, or the `,`
 * may be in the next chunk.
 */
function endOfLines(bytes: Uint8Array): number {
  const last = bytes.lastIndexOf(lineFeed)
  const feed = bytes[last + 1] === comma ? last : bytes.lastIndexOf(lineFeed, last - 1)
  return bytes[feed + 1] === comma ? feed + 1 : -1
}
