import { randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Cursor } from './cursor.ts'

/**
 * What a cursor still has to give, copied to a temporary file as fast as the database gives it, so that this is free
 * again however slowly the copy is read. Meanwhile it can be read already.
 */
export class Spool implements Cursor {
  /** Resolves once the database is free; rejects where that is because something failed. */
  readonly copied: Promise<void>
  readonly #source: Cursor
  /** How long the batches are that are there and were not read yet, in bytes. */
  readonly #lengths: number[] = []
  #file: FileHandle | undefined
  #offset = 0
  #ended = false
  #closed = false
  #wake = () => {}

  constructor(source: Cursor) {
    this.#source = source
    this.copied = this.#copy()
    // Whoever reads to where it failed is told.
    this.copied.catch(() => {})
  }

  async next(): Promise<string> {
    while (this.#lengths.length === 0 && !this.#ended) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    const length = this.#lengths.shift()
    if (length === undefined || !this.#file) {
      await this.close()
      await this.copied
      return ''
    }
    const { buffer } = await this.#file.read(Buffer.alloc(length), 0, length, this.#offset)
    this.#offset += length
    return buffer.toString()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#source.close()
    await this.copied.catch(() => {})
    await this.#file?.close()
  }

  async #copy(): Promise<void> {
    try {
      const path = join(tmpdir(), `instep-${randomUUID()}.spool`)
      this.#file = await open(path, 'wx+', 0o600)
      // Nobody else needs its name, and without one it goes with the process.
      await unlink(path)
      let batch = await this.#source.next()
      while (batch !== '' && !this.#closed) {
        const bytes = Buffer.from(batch)
        await this.#file.appendFile(bytes)
        this.#lengths.push(bytes.length)
        this.#wake()
        batch = await this.#source.next()
      }
    } finally {
      await this.#source.close()
      this.#ended = true
      this.#wake()
    }
  }
}
