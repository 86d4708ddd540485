import type { StoreTransaction } from '../storage/store.ts'
import type { Page } from './database.ts'
import type { FencedConnection } from './fence.ts'
import {
  generationOf,
  type Head,
  type Manifest,
  metaKeys,
  type PageEntry,
  pageKey,
  readManifest,
} from './format.ts'

/** Gives each writer of pages a name that no other has, and removes the pages that nobody needs. */
export class Generations {
  readonly #database: FencedConnection
  readonly #underWay = new Set<string>()
  #count = 0

  constructor(database: FencedConnection) {
    this.#database = database
  }

  /** A writer that is under way until it is ended: until then its pages are left alone. */
  begin(): PageWriter {
    this.#count += 1
    // Nobody else has this fence, and whoever had a lower one can no longer write.
    const id = `${this.#database.fence}.${this.#count}`
    this.#underWay.add(id)
    return new PageWriter(this.#database, id)
  }

  end(writer: PageWriter): void {
    this.#underWay.delete(writer.id)
  }

  /** Whether what `writer` wrote is still there. */
  isUnderWay(writer: PageWriter): boolean {
    return this.#underWay.has(writer.id)
  }

  /** All pages go, those of the writers under way among them: these cannot come to their end any more. */
  forget(): void {
    this.#underWay.clear()
  }

  /** Puts another manifest in place, and removes the pages that are in it no more. */
  async switchTo(tx: StoreTransaction, head: Head, manifest: Manifest): Promise<void> {
    tx.put('meta', metaKeys.head, head)
    tx.put('meta', metaKeys.manifest, manifest)
    await this.#sweep(tx)
  }

  /** Removes the pages of writers that did not come to their end. */
  sweep(): Promise<void> {
    return this.#database.write(['pages'], (tx) => this.#sweep(tx))
  }

  async #sweep(tx: StoreTransaction): Promise<void> {
    const [manifest, lent, keys] = await Promise.all([
      tx.get('meta', metaKeys.manifest),
      tx.get('meta', metaKeys.lent),
      tx.keys('pages'),
    ])
    // Whoever still writes there is refused from now on.
    if (!this.#underWay.has(String(lent))) tx.delete('meta', metaKeys.lent)
    const listed = new Set(manifest === undefined ? [] : readManifest(manifest).map(({ key }) => key))
    for (const key of keys) {
      if (!listed.has(key) && !this.#underWay.has(generationOf(key))) tx.delete('pages', key)
    }
  }
}

/** Writes pages that count only once a manifest lists them. */
export class PageWriter {
  readonly id: string
  /** The pages so far, in order, and whether each is stored yet. */
  readonly #pages: { readonly entry: PageEntry; readonly stored: Promise<void> }[] = []
  readonly #database: FencedConnection

  constructor(database: FencedConnection, id: string) {
    this.#database = database
    this.id = id
  }

  /** Stores pages, in one transaction, but for those that are stored elsewhere. */
  async add(...pages: readonly Page[]): Promise<readonly PageEntry[]> {
    const own: [key: string, text: string][] = []
    const first = this.#pages.length
    const entries = pages.map(({ text, types, elsewhere }, index) => {
      const key = elsewhere?.key ?? pageKey(this.id, first + index)
      if (!elsewhere) own.push([key, text])
      return { key, size: text.length, types }
    })
    const stored = this.#store(own)
    this.#pages.push(
      ...entries.map((entry, index) => ({ entry, stored: pages[index]?.elsewhere?.stored ?? stored })),
    )
    await stored
    return entries
  }

  async #store(pages: readonly (readonly [key: string, text: string])[]): Promise<void> {
    if (pages.length === 0) return
    await this.#database.write(['pages'], async (tx) => {
      for (const [key, text] of pages) tx.put('pages', key, text)
    })
  }

  /** All pages, once they are stored. Rejects where one could not be. */
  async manifest(): Promise<Manifest> {
    await Promise.all(this.#pages.map(({ stored }) => stored))
    return this.#pages.map(({ entry }) => entry)
  }
}
