import { randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Cursor } from './cursor.ts'

/**
 * Copies the rest of a cursor to a temporary file as fast as the database returns it. This frees the database, however
 * slowly the copy is read. Reading can start during the copy, and several readers can read the same copy.
 */
export class SpoolFile {
  /** Resolves once the database is free; rejects if the copy failed. */
  readonly copied: Promise<void>
  readonly #source: Cursor
  readonly #onClosed: () => void
  /** The places in the file where the batches end. */
  readonly #ends: number[] = []
  readonly #waiting = new Set<() => void>()
  #file: FileHandle | undefined
  #readers = 0
  #isCopied = false
  #isClosed = false

  /** `onClosed`: called once nobody reads it any more. */
  constructor(source: Cursor, onClosed: () => void = () => {}) {
    this.#source = source
    this.#onClosed = onClosed
    this.copied = this.#copy()
    // A reader who reaches the end of the copy receives the error.
    this.copied.catch(() => {})
  }

  /** Whether it can still be read from the beginning. */
  get isOpen(): boolean {
    return !this.#isClosed
  }

  /** Adds a reader. Once all readers are closed, the file is gone. */
  read(): Spool {
    this.#readers += 1
    return new Spool(this)
  }

  /** Resolves with the batch at `index`, or with `''` at the end. */
  async batch(index: number): Promise<string> {
    while (index >= this.#ends.length && !this.#isCopied) {
      await new Promise<void>((resolve) => this.#waiting.add(resolve))
    }
    const end = this.#ends[index]
    if (end === undefined || !this.#file) {
      await this.copied
      return ''
    }
    const from = this.#ends[index - 1] ?? 0
    const { buffer } = await this.#file.read(Buffer.alloc(end - from), 0, end - from, from)
    return buffer.toString()
  }

  /** Removes a reader. */
  async leave(): Promise<void> {
    this.#readers -= 1
    if (this.#readers > 0) return
    this.#isClosed = true
    this.#onClosed()
    await this.#source.close()
    await this.copied.catch(() => {})
    await this.#file?.close()
  }

  async #copy(): Promise<void> {
    try {
      const path = join(tmpdir(), `instep-${randomUUID()}.spool`)
      this.#file = await open(path, 'wx+', 0o600)
      // Without a name, the file disappears when the process ends. Nothing else needs the name.
      await unlink(path)
      let batch = await this.#source.next()
      while (batch !== '' && !this.#isClosed) {
        const bytes = Buffer.from(batch)
        await this.#file.appendFile(bytes)
        this.#ends.push((this.#ends.at(-1) ?? 0) + bytes.length)
        this.#wake()
        batch = await this.#source.next()
      }
    } finally {
      await this.#source.close()
      this.#isCopied = true
      this.#wake()
    }
  }

  #wake(): void {
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }
}

/** A reader of a copy. */
export class Spool implements Cursor {
  readonly holdsConnection = false
  readonly #copy: SpoolFile
  #read = 0
  #isClosed = false

  constructor(copy: SpoolFile) {
    this.#copy = copy
  }

  async next(): Promise<string> {
    const batch = await this.#copy.batch(this.#read)
    this.#read += 1
    if (batch === '') await this.close()
    return batch
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#copy.leave()
  }
}
