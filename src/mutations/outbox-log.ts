import type { OutboxChange, OutboxRecord, OutboxStore } from '../persistence/outbox.ts'

/** Writes transactions to the disk, in order. Records that are put during a write are written together afterwards. */
export class OutboxLog {
  readonly #write: OutboxStore['write']
  #last: Promise<unknown> = Promise.resolve()
  #next: { readonly records: (() => OutboxRecord)[]; readonly written: Promise<void> } | undefined

  constructor(write: OutboxStore['write']) {
    this.#write = write
  }

  /** Resolves once `record` is on the disk, as it is when its turn to be written comes. */
  put(record: () => OutboxRecord): Promise<void> {
    if (!this.#next) {
      const records: (() => OutboxRecord)[] = []
      const written = this.#after(async () => {
        if (this.#next?.records === records) this.#next = undefined
        await this.#write({ put: records.map((read) => read()) })
      })
      this.#next = { records, written }
    }
    this.#next.records.push(record)
    return this.#next.written
  }

  /** Resolves as `OutboxStore.write` does. A function returns the change when its turn comes. */
  change(change: OutboxChange | (() => OutboxChange)): Promise<readonly string[]> {
    this.#next = undefined
    return this.#after(() => this.#write(typeof change === 'function' ? change() : change))
  }

  /** Resolves once the writes that are queued now have ended. `true`: more writes were added in the meantime. */
  async settled(): Promise<boolean> {
    const last = this.#last
    await last
    return last !== this.#last
  }

  /**
   * Runs `write` after the last one. The caller's continuation runs before the next write begins, and so can still
   * change the content of the next write.
   */
  #after<T>(write: () => Promise<T>): Promise<T> {
    const written = this.#last.then(write)
    this.#last = written.catch(() => {})
    return written
  }
}
