import type { Page } from './database.ts'

/** A transaction takes pages of so much text, in UTF-16 units: one for each page would be a quarter of a first sync. */
const batchUnits = 1_000_000

/** So many transactions may be on their way to the disk while the next pages arrive. */
const maxUnderWay = 2

/** Gathers the pages of a snapshot into transactions. */
export class PageBatches {
  readonly #write: (pages: readonly Page[]) => Promise<void>
  readonly #underWay = new Set<Promise<void>>()
  /** What the next transaction takes. */
  #batch: Page[] = []
  #units = 0

  /** `write` stores pages in one transaction. It never rejects. */
  constructor(write: (pages: readonly Page[]) => Promise<void>) {
    this.#write = write
  }

  /** Resolves when there is room for the next one. */
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

  /** Resolves once nothing is on its way. What is still gathered stays so. */
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
