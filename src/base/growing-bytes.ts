/** Collects bytes that arrive in pieces into one array. Many small pieces cost no more than a few large ones. */
export class GrowingBytes {
  #buffer = new Uint8Array(0)
  #length = 0

  /** The number of bytes. */
  get length(): number {
    return this.#length
  }

  /** All bytes, as a view that is valid until the next `append`. */
  get all(): Uint8Array {
    return this.#buffer.subarray(0, this.#length)
  }

  append(bytes: Uint8Array): void {
    const length = this.#length + bytes.length
    if (length > this.#buffer.length) {
      const buffer = new Uint8Array(Math.max(length, 2 * this.#buffer.length))
      buffer.set(this.all)
      this.#buffer = buffer
    }
    this.#buffer.set(bytes, this.#length)
    this.#length = length
  }

  /** Keeps the first `length` bytes. */
  truncate(length: number): void {
    this.#length = Math.min(length, this.#length)
  }
}
