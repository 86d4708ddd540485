import { toStorageError } from '../base/errors.ts'
import type { Clock } from '../base/world.ts'
import { FencedConnection } from '../database/fence.ts'
import { pageKey } from '../database/format.ts'
import { PageBatches } from '../database/page-batches.ts'
import { withTimeLimits } from '../storage/deadline.ts'
import type { Store } from '../storage/store.ts'
import type { SnapshotPlace } from '../transport/transport.ts'

/** What a transaction takes, in UTF-16 units: it is a long turn, which matters in a page, but not here. */
const batchUnits = 4_000_000

interface KeyedPage {
  readonly key: string
  readonly text: string
}

/** Stores slices as pages, in the place that a page lent. What it cannot store it tells once, and stores no more. */
export class SliceWriter {
  readonly #database: FencedConnection
  readonly #generation: string
  readonly #onFailure: (error: unknown) => void
  readonly #batches = new PageBatches<KeyedPage>((pages) => this.#write(pages), batchUnits)
  #count = 0
  #failed = false

  private constructor(database: FencedConnection, generation: string, onFailure: (error: unknown) => void) {
    this.#database = database
    this.#generation = generation
    this.#onFailure = onFailure
  }

  /** Tells `onFailure` a StorageError, once at most. Resolves with nothing where it was told of one at once. */
  static async open(
    store: Store,
    clock: Clock,
    place: SnapshotPlace,
    onFailure: (error: unknown) => void,
  ): Promise<SliceWriter | undefined> {
    try {
      const connection = await withTimeLimits(store, clock).open(place.name)
      const database = FencedConnection.join(connection, place)
      // Now is when to find that this is not where the page stores.
      await database.write([], async () => {})
      return new SliceWriter(database, place.generation, onFailure)
    } catch (error) {
      onFailure(toStorageError(error))
      return undefined
    }
  }

  /** Resolves with the key under which it is to be stored, when there is room for the next one. */
  async add(text: string): Promise<string> {
    const key = pageKey(this.#generation, this.#count)
    this.#count += 1
    await this.#batches.add({ key, text })
    return key
  }

  /** Resolves once all is stored, or it was told that it cannot be. */
  async end(): Promise<void> {
    await this.#batches.flush()
    this.#database.close()
  }

  async #write(pages: readonly KeyedPage[]): Promise<void> {
    if (this.#failed) return
    try {
      await this.#database.write(['pages'], async (tx) => {
        for (const { key, text } of pages) tx.put('pages', key, text)
      })
    } catch (error) {
      if (!this.#failed) this.#onFailure(toStorageError(error))
      this.#failed = true
    }
  }
}
