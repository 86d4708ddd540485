import type { Page } from './stored-data.ts'

/**
 * The size of the pages in one transaction, in UTF-16 units. With one transaction for each page, the transactions would
 * take a quarter of the time of a first sync.
 */
const batchUnits = 1_000_000

/** At most this many transactions are written while the next pages arrive. */
const maxUnderWay = 2

/** Collects the pages of a snapshot into transactions. */
export class PageBatches {
  readonly #write: (pages: readonly Page[]) => Promise<void>
  readonly #underWay = new Set<Promise<void>>()
  /** The pages of the next transaction. */
  #batch: Page[] = []
  #units = 0

  /** `write` stores pages in one transaction. It never rejects. */
  constructor(write: (pages: readonly Page[]) => Promise<void>) {
    this.#write = write
  }

  /** Resolves when the next page may be added. */
  async add(page: Page): Promise<void> {
    this.#batch.push(page)
    this.#units += page.text.length
    if (this.#units < batchUnits) return
    const writing = this.#writeBatch()
    this.#underWay.add(writing)
    void writing.then(() => this.#underWay.delete(writing))
    if (this.#underWay.size >= maxUnderWay) await Promise.race(this.#underWay)
  }

  /** Resolves once all pages are written. */
  async flush(): Promise<void> {
    if (this.#batch.length > 0) await this.#writeBatch()
    await this.settled()
  }

  /** Resolves once no transaction is being written. Pages that are still collected are not written. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay)
  }

  #writeBatch(): Promise<void> {
    const batch = this.#batch
    this.#batch = []
    this.#units = 0
    return this.#write(batch)
  }
}
