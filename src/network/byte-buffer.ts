import { GrowingBytes } from '../base/growing-bytes.ts'
import { notJson } from '../protocol/envelope.ts'
import { isSpace } from './value-follower.ts'

/** Bytes of UTF-8 that come in pieces and are wanted as one text. */
export class ByteBuffer extends GrowingBytes {
  // A BOM is for the reader of a document to pass over, not for each part of one.
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

  /** Whether there is nothing but white space from `from` on. */
  isBlank(from: number): boolean {
    return this.all.subarray(from).every(isSpace)
  }

  /** All of it as text; the buffer is empty then. Throws a ProtocolError where it is not UTF-8. */
  take(): string {
    const bytes = this.all
    this.truncate(0)
    return decode(this.#decoder, bytes)
  }
}

/** What `decoder` makes of `bytes`, or of what it has kept at the end. Throws a ProtocolError where it is not UTF-8. */
export function decode(decoder: TextDecoder, bytes?: Uint8Array, options?: TextDecodeOptions): string {
  try {
    return decoder.decode(bytes, options)
  } catch {
    throw notJson('The answer')
  }
}
