import type { OutboxChange, OutboxRecord, OutboxStore } from '../persistence/outbox.ts'

/** Writes transactions to the disk, in order. What is to be put while a write is under way goes into the next one. */
export class OutboxLog {
  readonly #write: OutboxStore['write']
  #last: Promise<unknown> = Promise.resolve()
  #next: { readonly records: OutboxRecord[]; readonly written: Promise<void> } | undefined

  constructor(write: OutboxStore['write']) {
    this.#write = write
  }

  /** Resolves once `record` is on the disk. */
  put(record: OutboxRecord): Promise<void> {
    if (!this.#next) {
      const records: OutboxRecord[] = []
      const written = this.#after(async () => {
        if (this.#next?.records === records) this.#next = undefined
        await this.#write({ put: records })
      })
      this.#next = { records, written }
    }
    this.#next.records.push(record)
    return this.#next.written
  }

  /** Resolves as `OutboxStore.write` does. A function says in its turn what is to be done. */
  change(change: OutboxChange | (() => OutboxChange)): Promise<readonly string[]> {
    this.#next = undefined
    return this.#after(() => this.#write(typeof change === 'function' ? change() : change))
  }

  /** Resolves once what is under way is not any more, with whether its end led to more. */
  async settled(): Promise<boolean> {
    const last = this.#last
    await last
    return last !== this.#last
  }

  /** Who awaits it hears of its end before the next one begins, and so may still say what that is to do. */
  #after<T>(write: () => Promise<T>): Promise<T> {
    const written = this.#last.then(write)
    this.#last = written.catch(() => {})
    return written
  }
}
