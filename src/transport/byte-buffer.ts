import { ProtocolError } from '../base/errors.ts'
import { isSpace } from './value-follower.ts'

/** Bytes of UTF-8 that come in pieces and are wanted as one text. Many small pieces cost no more than a few large. */
export class ByteBuffer {
  #bytes = new Uint8Array(0)
  #length = 0

  get length(): number {
    return this.#length
  }

  append(bytes: Uint8Array): void {
    const length = this.#length + bytes.length
    if (length > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(length, 2 * this.#bytes.length))
      grown.set(this.#bytes.subarray(0, this.#length))
      this.#bytes = grown
    }
    this.#bytes.set(bytes, this.#length)
    this.#length = length
  }

  /** Whether there is nothing but white space from `from` on. */
  isBlank(from: number): boolean {
    let at = from
    while (at < this.#length && isSpace(this.#bytes[at])) at += 1
    return at === this.#length
  }

  /** Drops what is behind the first `length` bytes. */
  truncate(length: number): void {
    this.#length = Math.min(length, this.#length)
  }

  /** All of it as text; the buffer is empty then. Throws a ProtocolError where it is not UTF-8. */
  take(): string {
    const bytes = this.#bytes.subarray(0, this.#length)
    this.#length = 0
    try {
      return decoder.decode(bytes)
    } catch {
      throw new ProtocolError('not_json', 'The answer is not UTF-8; is something between client and server?')
    }
  }
}

// A BOM is for the reader of a document to pass over, not for each part of one.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
