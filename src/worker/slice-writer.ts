import { toStorageError } from '../base/errors.ts'
import type { Clock } from '../base/world.ts'
import { FencedConnection } from '../database/fence.ts'
import { pageKey } from '../database/format.ts'
import { PageBatches } from '../database/page-batches.ts'
import { withTimeLimits } from '../storage/deadline.ts'
import type { Store } from '../storage/store.ts'
import type { SnapshotPlace } from '../transport/transport.ts'

interface KeyedPage {
  readonly key: string
  readonly text: string
}

/** Stores slices as pages, in the place that a page lent. What it cannot store it tells once, and stores no more. */
export class SliceWriter {
  readonly #place: SnapshotPlace
  readonly #database: Promise<FencedConnection>
  readonly #batches = new PageBatches<KeyedPage>((pages) => this.#write(pages))
  readonly #onFailure: (error: unknown) => void
  #count = 0
  #failed = false

  /** `onFailure` is told a StorageError, once at most. */
  constructor(store: Store, clock: Clock, place: SnapshotPlace, onFailure: (error: unknown) => void) {
    this.#place = place
    this.#onFailure = onFailure
    const opening = withTimeLimits(store, clock).open(place.name)
    this.#database = opening.then((connection) => FencedConnection.join(connection, place.fence))
    // Whoever writes hears of it.
    this.#database.catch(() => {})
  }

  /** Resolves with the key under which it will be stored, when there is room for the next one. */
  async add(text: string): Promise<string | undefined> {
    if (this.#failed) return undefined
    const key = pageKey(this.#place.generation, this.#count)
    this.#count += 1
    await this.#batches.add({ key, text })
    return key
  }

  /** Resolves once all is stored, or it was told that it cannot be. */
  async end(): Promise<void> {
    if (!this.#failed) await this.#batches.flush()
    await this.#database.then(
      (database) => database.close(),
      () => {},
    )
  }

  async #write(pages: readonly KeyedPage[]): Promise<void> {
    if (this.#failed) return
    try {
      const database = await this.#database
      await database.write(['pages'], async (tx) => {
        for (const { key, text } of pages) tx.put('pages', key, text)
      })
    } catch (error) {
      if (!this.#failed) this.#onFailure(toStorageError(error))
      this.#failed = true
    }
  }
}
