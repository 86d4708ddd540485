import { ProtocolError } from '../base/errors.ts'
import { readSnapshotHead, type SnapshotHead } from '../protocol/bootstrap.ts'
import { notJson, parseJson } from '../protocol/envelope.ts'
import { epochAndCallerOf, isCount } from '../protocol/guards.ts'
import { maxDepth } from '../protocol/json.ts'
import { ByteBuffer } from './byte-buffer.ts'
import { snapshot } from './raw-slice.ts'
import { type OnSlice, RowSlicer } from './row-slicer.ts'
import { closeBrace, colon, comma, isSpace, openBrace, openBracket, ValueFollower } from './value-follower.ts'

/** The maximum length in bytes of keys and values outside the rows that are kept. Longer ones are skipped. */
const keptBytes = 64 * 1024

/** The bytes of a byte order mark, which a reader may skip (RFC 8259, section 8.1). */
const byteOrderMark = [0xef, 0xbb, 0xbf]

/** The position at the top level of the document. */
type State = 'start' | 'key' | 'value' | 'before rows' | 'rows' | 'after rows' | 'end'

/**
 * Reads a snapshot from chunks of any size, in time linear in its bytes. Needs memory for one slice and one row,
 * whatever else the snapshot holds.
 *
 * Refuses what `JSON.parse` refuses, with two exceptions, of which only strings and brackets are checked, and kinds of
 * brackets are not compared: a row that nests deeper than `maxDepth`, which is left out; and outside the rows, a key or
 * value that nests deeper or is longer than 64 KiB. Such a value counts as `null`, and such a key as unknown. A second
 * `rows` is refused.
 */
export class SnapshotScanner {
  readonly #rows: RowSlicer
  readonly #values: Record<string, unknown> = {}
  #state: State = 'start'
  #keys = 0
  #key: unknown
  /** The current key or value: its bytes that are kept, and the number of its bytes so far. */
  readonly #follower = new ValueFollower()
  readonly #kept = new ByteBuffer()
  #passed = 0

  /**
   * @param maxRowBytes the maximum length of a row in bytes, including the white space around it
   * @param onSlice called with each slice as soon as it is complete
   */
  constructor(maxRowBytes: number, onSlice: OnSlice) {
    this.#rows = new RowSlicer(maxRowBytes, onSlice)
  }

  /** The total number of rows, if the snapshot has said so up to here. */
  get count(): number | undefined {
    const { count } = this.#values
    return isCount(count) ? count : undefined
  }

  /** The caller, if the snapshot has named one up to here. */
  get caller(): string | undefined {
    return epochAndCallerOf(this.#values).caller
  }

  /** Reads the next bytes. After a ProtocolError, the scanner can no longer be used. */
  push(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      if (this.#state === 'rows') at = this.#readRows(bytes, at)
      else if (this.#passed === 0 && isSpace(bytes[at])) at += 1
      else if (this.#state === 'key' || this.#state === 'value') at = this.#readText(bytes, at)
      else {
        this.#readMark(bytes[at])
        at += 1
      }
    }
  }

  /**
   * Returns the members of the snapshot other than its rows. Throws a ProtocolError if the snapshot is not complete.
   */
  end(): SnapshotHead {
    if (this.#state !== 'end') {
      throw new ProtocolError('truncated', 'The snapshot broke off before its end.')
    }
    if (!this.#rows.ended) throw new ProtocolError('bad_envelope', 'The snapshot has no `rows`.')
    return readSnapshotHead(this.#values)
  }

  #readRows(bytes: Uint8Array, at: number): number {
    const end = this.#rows.read(bytes, at)
    if (this.#rows.ended) this.#state = 'after rows'
    return end
  }

  /** Reads a byte of the structure. */
  #readMark(byte: number | undefined): void {
    if (this.#state === 'start') {
      if (byte === byteOrderMark[this.#passed]) this.#passed = (this.#passed + 1) % byteOrderMark.length
      else if (byte === openBrace && this.#passed === 0) this.#state = 'key'
      else throw notJson(snapshot)
    } else if (this.#state === 'before rows') {
      if (byte !== openBracket)
        throw new ProtocolError('bad_envelope', 'The `rows` of the snapshot are not an array.')
      this.#state = 'rows'
    } else if (this.#state === 'after rows') this.#endOfValue(byte)
    else throw notJson(snapshot)
  }

  /** Reads a key and its `:`, or a value and the `,` or `}` after it. */
  #readText(bytes: Uint8Array, at: number): number {
    const end = this.#follower.follow(bytes, at)
    this.#passed += end - at
    if (this.#passed <= keptBytes) this.#kept.append(bytes.subarray(at, end))
    if (end === bytes.length) return end
    const whole = this.#passed <= keptBytes && this.#follower.deepest <= maxDepth
    // An incomplete text may end within a character.
    if (!whole) this.#kept.truncate(0)
    const text = this.#kept.take()
    this.#passed = 0
    this.#follower.deepest = 0
    const delimiter = bytes[end]
    if (this.#state === 'value') this.#keep(whole ? parseJson(text, snapshot) : null, delimiter)
    else if (delimiter === colon) this.#startValue(whole ? parseJson(text, snapshot) : '')
    else if (delimiter === closeBrace && text === '' && this.#keys === 0) this.#state = 'end'
    else throw notJson(snapshot)
    return end + 1
  }

  #startValue(key: unknown): void {
    if (typeof key !== 'string') throw notJson(snapshot)
    this.#key = key
    this.#keys += 1
    this.#state = key === 'rows' ? 'before rows' : 'value'
    if (key !== 'rows') return
    if (this.#rows.ended) throw new ProtocolError('bad_envelope', 'The snapshot has `rows` twice.')
    this.#rows.inLines = this.#values.lines === true
  }

  #keep(value: unknown, delimiter: number | undefined): void {
    const key = this.#key
    if (key === 'sid' || key === 'epoch' || key === 'caller' || key === 'count' || key === 'lines') {
      this.#values[key] = value
    }
    this.#endOfValue(delimiter)
  }

  #endOfValue(delimiter: number | undefined): void {
    if (delimiter !== comma && delimiter !== closeBrace) throw notJson(snapshot)
    this.#state = delimiter === comma ? 'key' : 'end'
  }
}
