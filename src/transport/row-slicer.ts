import { ProtocolError } from '../base/errors.ts'
import { notJson, parseJson } from '../protocol/envelope.ts'
import { maxDepth } from '../protocol/json.ts'
import { readRow, type WireRow } from '../protocol/row.ts'
import { ByteBuffer } from './byte-buffer.ts'
import type { SnapshotSlice } from './transport.ts'
import { closeBracket, comma, openBracket, ValueFollower } from './value-follower.ts'

/** A slice ends with the row that makes it this long: in rows, or in bytes. */
const sliceRows = 1000
const sliceBytes = 256 * 1024

/** What an error is about. */
export const snapshot = 'The snapshot'

const arrayStart = Uint8Array.of(openBracket)
const arrayEnd = Uint8Array.of(closeBracket)

/** Cuts the array of rows, behind its `[`, into slices. Keeps the bytes of one slice and one row. */
export class RowSlicer {
  /** Whether the array's `]` has come. */
  ended = false
  /** How many rows came in slices. */
  rows = 0
  readonly #maxRowBytes: number
  readonly #onSlice: (slice: SnapshotSlice) => void
  readonly #follower = new ValueFollower()
  /** The present slice: `[`, whole rows and the beginning of the next; how many are whole, what was left out. */
  readonly #bytes = new ByteBuffer()
  #whole = 0
  #broken: string[] = []
  /** How much of the present row has passed, and how many items came before it. */
  #rowBytes = 0
  #items = 0

  constructor(maxRowBytes: number, onSlice: (slice: SnapshotSlice) => void) {
    this.#maxRowBytes = maxRowBytes
    this.#onSlice = onSlice
    this.#bytes.append(arrayStart)
  }

  /** Reads `bytes` from `from` on, and gives the place behind the array, or the end of `bytes`. */
  read(bytes: Uint8Array, from: number): number {
    // What is before `kept` is in the buffer: it goes there in one piece for many rows, not in one for each.
    let kept = from
    let at = from
    while (!this.ended) {
      const end = this.#follower.follow(bytes, at)
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
    this.#bytes.append(arrayEnd)
    const text = this.#bytes.take()
    this.#bytes.append(arrayStart)
    const items = parseJson(text, snapshot) as readonly unknown[]
    // Nothing between two commas counts as an item here, and as none for JSON.
    const isEmptyArray = this.ended && this.#items === 1 && items.length === 0
    if (items.length !== this.#whole && !isEmptyArray) throw notJson(snapshot)
    const broken = this.#broken
    const rows: WireRow[] = []
    let asItCame = true
    for (const item of items) {
      const row = readRow(item)
      if (typeof row === 'string') broken.push(row)
      else rows.push(row)
      asItCame &&= row === item
    }
    this.#whole = 0
    this.#broken = []
    this.rows += rows.length
    if (rows.length + broken.length > 0) {
      this.#onSlice({ rows, text: asItCame ? text : JSON.stringify(rows), broken })
    }
  }
}
