import { type SyncError, toStorageError } from '../base/errors.ts'
import type { Database, Page, SnapshotWriter } from '../database/database.ts'
import type { SnapshotHead } from '../protocol/bootstrap.ts'
import type { SnapshotSlice } from '../transport/transport.ts'

/** A transaction takes pages of so much text, in UTF-16 units: one for each page would be a quarter of a first sync. */
const batchUnits = 1_000_000

/** So many transactions may be on their way to the disk while the next slices arrive. */
const mostUnderWay = 2

/** Writes a snapshot's slices as pages. A store that fails does not stop the snapshot: it is then in memory alone. */
export class PageSink {
  readonly #database: Database
  #writer: Promise<SnapshotWriter> | undefined
  readonly #underWay = new Set<Promise<void>>()
  /** What the next transaction takes. */
  #batch: Page[] = []
  #units = 0
  #failure: SyncError | undefined

  constructor(database: Database) {
    this.#database = database
  }

  /** Why not all is written, if it is not. */
  get failure(): SyncError | undefined {
    return this.#failure
  }

  /** Resolves when there is room for the next one. */
  async add({ text, rows }: SnapshotSlice): Promise<void> {
    if (this.#failure) return
    const types = new Map<string, number>()
    for (const { t } of rows) types.set(t, (types.get(t) ?? 0) + 1)
    this.#batch.push({ text, types: [...types] })
    this.#units += text.length
    if (this.#units < batchUnits) return
    const writing = this.#writeBatch()
    this.#underWay.add(writing)
    void writing.then(() => this.#underWay.delete(writing))
    if (this.#underWay.size >= mostUnderWay) await Promise.race(this.#underWay)
  }

  /** Makes the snapshot the stored copy. Resolves with why it could not, if it could not. */
  async commit(head: SnapshotHead): Promise<SyncError | undefined> {
    await this.#writeBatch()
    await Promise.all(this.#underWay)
    if (!this.#failure) await this.#attempt(async () => (await this.#begun()).commit(head))
    if (this.#failure) await this.abort()
    return this.#failure
  }

  /** Drops what was written, as far as the store lets it. */
  async abort(): Promise<void> {
    await Promise.all(this.#underWay)
    await this.#attempt(async () => (await this.#writer)?.abort())
  }

  async #writeBatch(): Promise<void> {
    const batch = this.#batch
    this.#batch = []
    this.#units = 0
    if (this.#failure || batch.length === 0) return
    await this.#attempt(async () => (await this.#begun()).page(...batch))
  }

  #begun(): Promise<SnapshotWriter> {
    this.#writer ??= this.#database.snapshot()
    return this.#writer
  }

  /** Never rejects: what fails is kept in `#failure`. */
  async #attempt(write: () => Promise<void>): Promise<void> {
    try {
      await write()
    } catch (error) {
      this.#failure ??= toStorageError(error)
    }
  }
}
