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
  /** Stores pages, in one transaction, but for those that are stored elsewhere. */
  add(...pages: readonly Page[]): Promise<readonly PageEntry[]>
  /** All pages, once they are stored. Rejects where one could not be. */
  manifest(): Promise<Manifest>
}

export function generationsOf(database: FencedConnection): Generations {
  const underWay = new Set<string>()
  let count = 0

  const sweep = async (tx: StoreTransaction) => {
    const [manifest, lent, keys] = await Promise.all([
      tx.get('meta', metaKeys.manifest),
      tx.get('meta', metaKeys.lent),
      tx.keys('pages'),
    ])
    // Whoever still writes there is refused from now on.
    if (!underWay.has(String(lent))) tx.delete('meta', metaKeys.lent)
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
  /** The pages so far, in order, and whether each is stored yet. */
  const written: { readonly entry: PageEntry; readonly stored: Promise<void> }[] = []

  const store = async (pages: readonly (readonly [key: string, text: string])[]) => {
    if (pages.length === 0) return
    await database.write(['pages'], async (tx) => {
      for (const [key, text] of pages) tx.put('pages', key, text)
    })
  }

  return {
    async add(...pages) {
      const own: [key: string, text: string][] = []
      const first = written.length
      const entries = pages.map(({ text, types, elsewhere }, index) => {
        const key = elsewhere?.key ?? pageKey(id, first + index)
        if (!elsewhere) own.push([key, text])
        return { key, size: text.length, types }
      })
      const stored = store(own)
      written.push(
        ...entries.map((entry, index) => ({ entry, stored: pages[index]?.elsewhere?.stored ?? stored })),
      )
      await stored
      return entries
    },
    async manifest() {
      await Promise.all(written.map(({ stored }) => stored))
      return written.map(({ entry }) => entry)
    },
  }
}
