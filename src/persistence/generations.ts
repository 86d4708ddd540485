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
export interface Generations {
  /** A writer that is under way until it is ended: until then its pages are left alone. */
  begin(): PageWriter
  /** All pages go, those of the writers under way among them: these cannot come to their end any more. */
  forget(): void
  /** Puts another manifest in place, and removes the pages that are in it no more. */
  switchTo(tx: StoreTransaction, head: Head, manifest: Manifest): Promise<void>
  /** Removes the pages of writers that did not come to their end. */
  sweep(): Promise<void>
}

/** Writes pages that count only once a manifest lists them. */
export interface PageWriter {
  readonly id: string
  /** Whether what it wrote is still there. */
  isUnderWay(): boolean
  end(): void
  /** Stores pages, in one transaction. */
  add(...pages: readonly Page[]): Promise<readonly PageEntry[]>
  /** All pages, once they are stored. Rejects where one could not be. */
  manifest(): Promise<Manifest>
}

export function generationsOf(database: FencedConnection): Generations {
  const underWay = new Set<string>()
  let count = 0

  const sweep = async (tx: StoreTransaction) => {
    const [manifest, keys] = await Promise.all([tx.get('meta', metaKeys.manifest), tx.keys('pages')])
    const listed = new Set(manifest === undefined ? [] : readManifest(manifest).map(({ key }) => key))
    for (const key of keys) {
      if (!listed.has(key) && !underWay.has(generationOf(key))) tx.delete('pages', key)
    }
  }

  return {
    begin() {
      count += 1
      // Nobody else has this fence, and whoever had a lower one can no longer write.
      const id = `${database.fence}.${count}`
      underWay.add(id)
      return {
        id,
        isUnderWay: () => underWay.has(id),
        end: () => void underWay.delete(id),
        ...pagesIn(database, id),
      }
    },
    forget: () => underWay.clear(),
    async switchTo(tx, head, manifest) {
      tx.put('meta', metaKeys.head, head)
      tx.put('meta', metaKeys.manifest, manifest)
      await sweep(tx)
    },
    sweep: () => database.write(['pages'], sweep),
  }
}

/** Writes pages of the generation `id`. */
function pagesIn(database: FencedConnection, id: string): Pick<PageWriter, 'add' | 'manifest'> {
  /** The pages so far, in order. */
  const entries: PageEntry[] = []
  const writes: Promise<void>[] = []

  return {
    async add(...pages) {
      if (pages.length === 0) return []
      const first = entries.length
      const keyed = pages.map((page, index) => ({ ...page, key: pageKey(id, first + index) }))
      const added = keyed.map(({ key, text, types }) => ({ key, size: text.length, types }))
      entries.push(...added)
      const written = database.write(['pages'], async (tx) => {
        for (const { key, text } of keyed) tx.put('pages', key, text)
      })
      writes.push(written)
      await written
      return added
    },
    async manifest() {
      await Promise.all(writes)
      return entries
    },
  }
}
