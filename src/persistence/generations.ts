import type { StoreTransaction, StoreValue } from '../storage/store.ts'
import type { Connection } from './connection.ts'
import {
  generationOf,
  type Head,
  type Manifest,
  metaKeys,
  type PageEntry,
  pageKey,
  readManifest,
} from './format.ts'
import type { Page } from './stored-data.ts'

/** Begins page writers, each with a unique name, and removes the pages that nothing uses. */
export interface Generations {
  /** Begins a writer. Its pages are not swept until the writer has ended. */
  begin(): PageWriter
  /** Ends all writers, because all pages are about to be removed. Their snapshots and checkpoints then fail. */
  forget(): void
  /** Stores a new head and manifest, and removes the pages that the manifest does not list. */
  switchTo(tx: StoreTransaction, head: Head, manifest: Manifest): Promise<void>
  /** Removes the pages of writers that did not finish. */
  sweep(): Promise<void>
}

/** Writes pages. They become part of the data only when a manifest lists them. */
export interface PageWriter {
  readonly id: string
  /** The fence when the writer began. Another leader may have removed pages since another was raised. */
  readonly fence: number
  /** Whether this writer is still writing. `false` after `end`, and after `Generations.forget`. */
  isUnderWay(): boolean
  end(): void
  /** Stores pages, in one transaction. */
  add(...pages: readonly Page[]): Promise<readonly PageEntry[]>
  /** Resolves with all pages once they are stored. Rejects if a page could not be stored. */
  manifest(): Promise<Manifest>
}

export function generationsOf(database: Connection): Generations {
  const underWay = new Set<string>()
  let count = 0

  const sweep = async (tx: StoreTransaction) => {
    const [manifest, keys] = await Promise.all([tx.get('meta', metaKeys.manifest), tx.keys('pages')])
    const listed = new Set(keysIn(manifest))
    for (const key of keys) {
      if (!listed.has(key) && !underWay.has(generationOf(key))) tx.delete('pages', key)
    }
  }

  return {
    begin() {
      count += 1
      // The name is unique: no other client has this fence, and clients with a lower fence can no longer write.
      const { fence } = database
      const id = `${fence}.${count}`
      underWay.add(id)
      return {
        id,
        fence,
        isUnderWay: () => underWay.has(id),
        end: () => void underWay.delete(id),
        ...pagesIn(database, id, fence),
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

/** The keys of the pages that `manifest` lists. None if it cannot be read, since no data can be restored then. */
function keysIn(manifest: StoreValue | undefined): readonly string[] {
  try {
    return readManifest(manifest).map(({ key }) => key)
  } catch {
    return []
  }
}

/** Writes pages of the generation `id`. */
function pagesIn(database: Connection, id: string, fence: number): Pick<PageWriter, 'add' | 'manifest'> {
  const entries: PageEntry[] = []
  const writes: Promise<void>[] = []

  return {
    async add(...pages) {
      if (pages.length === 0) return []
      const first = entries.length
      const keyed = pages.map((page, index) => ({ ...page, key: pageKey(id, first + index) }))
      const added = keyed.map(({ key, text, types }) => ({ key, size: text.length, types }))
      entries.push(...added)
      const written = database.write(
        ['pages'],
        async (tx) => {
          for (const { key, text } of keyed) tx.put('pages', key, text)
        },
        fence,
      )
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
