import { ProtocolError } from '../base/errors.ts'
import { readSnapshotHead, type SnapshotHead } from '../protocol/bootstrap.ts'
import { notJson, parseJson } from '../protocol/envelope.ts'
import { isCount, namesOf } from '../protocol/guards.ts'
import { maxDepth } from '../protocol/json.ts'
import { ByteBuffer } from './byte-buffer.ts'
import { snapshot } from './cut.ts'
import { RowSlicer, type TakeCut } from './row-slicer.ts'
import { closeBrace, colon, comma, isSpace, openBrace, openBracket, ValueFollower } from './value-follower.ts'

/** Longer keys and values beside the rows are followed, not kept. */
const keptBytes = 64 * 1024

/** The bytes of a byte order mark: a reader may pass over it (RFC 8259, section 8.1). */
const byteOrderMark = [0xef, 0xbb, 0xbf]

/** Where in the document, at its top level. */
type Place = 'start' | 'key' | 'value' | 'before rows' | 'rows' | 'after rows' | 'end'

/**
 * Reads a snapshot that comes in chunks of any size, in time linear in its bytes, with room for one slice and one row,
 * whatever else it holds.
 *
 * It refuses what `JSON.parse` refuses, but for two things of which only strings and brackets are followed, and the
 * kinds of brackets not compared: a row deeper than `maxDepth`, which is left out; and beside the rows a key or value
 * that is deeper, or longer than 64 KiB. Such a value counts as `null`, and such a key as unknown. A second `rows` is
 * refused.
 */
export class SnapshotScanner {
  readonly #rows: RowSlicer
  readonly #values: Record<string, unknown> = {}
  #place: Place = 'start'
  #keys = 0
  #key: unknown
  /** Follows the present key or value: what is kept of it, and how much of it has passed. */
  readonly #follower = new ValueFollower()
  readonly #kept = new ByteBuffer()
  #passed = 0

  /**
   * @param maxRowBytes the longest row, with the white space around it
   * @param onCut called with each slice as soon as it is complete
   */
  constructor(maxRowBytes: number, onCut: TakeCut) {
    this.#rows = new RowSlicer(maxRowBytes, onCut)
  }

  /** How many rows are to come in all, where the snapshot has said so by now. */
  get count(): number | undefined {
    const { count } = this.#values
    return isCount(count) ? count : undefined
  }

  /** Who asked for it, where the snapshot has said so by now. */
  get caller(): string | undefined {
    return namesOf(this.#values).caller
  }

  /** Takes the next bytes. Throws a ProtocolError, and is of no more use then. */
  push(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      if (this.#place === 'rows') at = this.#readRows(bytes, at)
      else if (this.#passed === 0 && isSpace(bytes[at])) at += 1
      else if (this.#place === 'key' || this.#place === 'value') at = this.#readText(bytes, at)
      else {
        this.#readMark(bytes[at])
        at += 1
      }
    }
  }

  /** What the snapshot says beside its rows. Throws a ProtocolError where it is not whole. */
  end(): SnapshotHead {
    if (this.#place !== 'end') {
      throw new ProtocolError('truncated', 'The snapshot broke off before its end.')
    }
    if (!this.#rows.ended) throw new ProtocolError('bad_envelope', 'The snapshot carries no `rows`.')
    return readSnapshotHead(this.#values)
  }

  #readRows(bytes: Uint8Array, at: number): number {
    const end = this.#rows.read(bytes, at)
    if (this.#rows.ended) this.#place = 'after rows'
    return end
  }

  /** A byte that stands for itself. */
  #readMark(byte: number | undefined): void {
    if (this.#place === 'start') {
      if (byte === byteOrderMark[this.#passed]) this.#passed = (this.#passed + 1) % byteOrderMark.length
      else if (byte === openBrace && this.#passed === 0) this.#place = 'key'
      else throw notJson(snapshot)
    } else if (this.#place === 'before rows') {
      if (byte !== openBracket)
        throw new ProtocolError('bad_envelope', 'The `rows` of the snapshot are no array.')
      this.#place = 'rows'
    } else if (this.#place === 'after rows') this.#endOfValue(byte)
    else throw notJson(snapshot)
  }

  /** A key and its `:`, or a value and the `,` or `}` behind it. */
  #readText(bytes: Uint8Array, at: number): number {
    const end = this.#follower.follow(bytes, at)
    this.#passed += end - at
    if (this.#passed <= keptBytes) this.#kept.append(bytes.subarray(at, end))
    if (end === bytes.length) return end
    const whole = this.#passed <= keptBytes && this.#follower.deepest <= maxDepth
    // What was not kept to its end may end within a character.
    if (!whole) this.#kept.truncate(0)
    const text = this.#kept.take()
    this.#passed = 0
    this.#follower.deepest = 0
    const delimiter = bytes[end]
    if (this.#place === 'value') this.#keep(whole ? parseJson(text, snapshot) : null, delimiter)
    else if (delimiter === colon) this.#startValue(whole ? parseJson(text, snapshot) : '')
    else if (delimiter === closeBrace && text === '' && this.#keys === 0) this.#place = 'end'
    else throw notJson(snapshot)
    return end + 1
  }

  #startValue(key: unknown): void {
    if (typeof key !== 'string') throw notJson(snapshot)
    this.#key = key
    this.#keys += 1
    this.#place = key === 'rows' ? 'before rows' : 'value'
    if (key !== 'rows') return
    if (this.#rows.ended) throw new ProtocolError('bad_envelope', 'The snapshot carries `rows` twice.')
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
    this.#place = delimiter === comma ? 'key' : 'end'
  }
}
