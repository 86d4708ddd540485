/** Bytes that come in pieces, as one array. Many small pieces cost no more than a few large ones. */
export class GrowingBytes {
  #room = new Uint8Array(0)
  #length = 0

  /** How many there are. */
  get length(): number {
    return this.#length
  }

  /** All of them, as they are until more are appended. */
  get all(): Uint8Array {
    return this.#room.subarray(0, this.#length)
  }

  append(bytes: Uint8Array): void {
    const length = this.#length + bytes.length
    if (length > this.#room.length) {
      const room = new Uint8Array(Math.max(length, 2 * this.#room.length))
      room.set(this.all)
      this.#room = room
    }
    this.#room.set(bytes, this.#length)
    this.#length = length
  }

  /** Drops what is behind the first `length` of them. */
  truncate(length: number): void {
    this.#length = Math.min(length, this.#length)
  }
}
