import { GrowingBytes } from '../base/growing-bytes.ts'
import { notJson } from '../protocol/envelope.ts'
import { isSpace } from './value-follower.ts'

/** Collects UTF-8 bytes that arrive in pieces and returns them as one text. */
export class ByteBuffer extends GrowingBytes {
  // The reader of the document skips a byte order mark. Do not skip one at the start of each slice.
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

  /** Whether there is only white space from `from` on. */
  isBlank(from: number): boolean {
    return this.all.subarray(from).every(isSpace)
  }

  /** Returns all bytes as text and empties the buffer. Throws a ProtocolError if the bytes are not UTF-8. */
  take(): string {
    const bytes = this.all
    this.truncate(0)
    return decode(this.#decoder, bytes)
  }
}

/** Decodes `bytes`, or without `bytes` what `decoder` has kept. Throws a ProtocolError if the bytes are not UTF-8. */
export function decode(decoder: TextDecoder, bytes?: Uint8Array, options?: TextDecodeOptions): string {
  try {
    return decoder.decode(bytes, options)
  } catch {
    throw notJson('The response')
  }
}
