import type { OutboxChange, OutboxRecord, OutboxWritten } from '../persistence/outbox.ts'

type Write = (change: OutboxChange) => Promise<OutboxWritten>

/** Writes transactions to the disk, in order. Records that are put during a write are written together afterwards. */
export class OutboxLog {
  readonly #write: Write
  #last: Promise<unknown> = Promise.resolve()
  #next: { readonly records: (() => OutboxRecord)[]; readonly written: Promise<OutboxWritten> } | undefined

  constructor(write: Write) {
    this.#write = write
  }

  /** Stores the result of `record`, which is called when the write begins. Resolves as `OutboxStore.write` does. */
  put(record: () => OutboxRecord): Promise<OutboxWritten> {
    if (!this.#next) {
      const records: (() => OutboxRecord)[] = []
      const written = this.#after(async () => {
        if (this.#next?.records === records) this.#next = undefined
        return this.#write({ put: records.map((read) => read()) })
      })
      this.#next = { records, written }
    }
    this.#next.records.push(record)
    return this.#next.written
  }

  /**
   * Writes `change`, or the result of `change`, which is called when the write begins. Resolves as `OutboxStore.write`
   * does.
   */
  change(change: OutboxChange | (() => OutboxChange)): Promise<OutboxWritten> {
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
   * Runs `write` after the last one. Two continuations of the caller run before the next write begins, and so can still
   * change the content of the next write.
   */
  #after<T>(write: () => Promise<T>): Promise<T> {
    const written = this.#last.then(write)
    this.#last = written.catch(() => {}).then(() => {})
    return written
  }
}
