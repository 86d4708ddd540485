import { randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Cursor } from './cursor.ts'

/**
 * Copies the rest of a cursor to a temporary file as fast as the database returns it. This frees the database, however
 * slowly the copy is read. Reading can start during the copy.
 */
export class Spool implements Cursor {
  readonly holdsConnection = false
  /** Resolves once the database is free; rejects if the copy failed. */
  readonly copied: Promise<void>
  readonly #source: Cursor
  /** The lengths of the batches in the file that are not read yet, in bytes. */
  readonly #lengths: number[] = []
  #file: FileHandle | undefined
  #offset = 0
  #ended = false
  #closed = false
  #wake = () => {}

  constructor(source: Cursor) {
    this.#source = source
    this.copied = this.#copy()
    // A reader who reaches the end of the copy receives the error.
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
      // Without a name, the file disappears when the process ends. Nothing else needs the name.
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
