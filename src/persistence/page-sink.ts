import { type SyncError, toStorageError } from '../base/errors.ts'
import type { SnapshotSlice } from '../network/transport.ts'
import type { SnapshotHead } from '../protocol/bootstrap.ts'
import type { Database, SnapshotWriter } from './database.ts'
import { PageBatches } from './page-batches.ts'
import { typesOf } from './pages.ts'
import type { Repair } from './repair.ts'

/** Writes a snapshot's slices as pages. A store that fails does not stop the snapshot: it is then in memory alone. */
export class PageSink {
  /** What it writes into. */
  readonly database: Database
  readonly #batches: PageBatches
  #writer: Promise<SnapshotWriter> | undefined
  #failure: SyncError | undefined

  constructor(database: Database) {
    this.database = database
    this.#batches = new PageBatches((pages) =>
      this.#attempt(async () => (await this.#begun()).page(...pages)),
    )
  }

  /** Why not all is written, if it is not. */
  get failure(): SyncError | undefined {
    return this.#failure
  }

  /** Resolves when there is room for the next one. */
  async add({ text, rows }: SnapshotSlice): Promise<void> {
    if (this.#failure || rows.length === 0) return
    await this.#batches.add({ text, types: typesOf(rows) })
  }

  /** Makes the snapshot the stored copy. Resolves with why it could not, if it could not. */
  async commit(head: SnapshotHead, repair?: Partial<Repair>): Promise<SyncError | undefined> {
    if (!this.#failure) await this.#batches.flush()
    if (!this.#failure) await this.#attempt(async () => (await this.#begun()).commit(head, repair))
    if (this.#failure) await this.abort()
    return this.#failure
  }

  /** Drops what was written, as far as the store lets it. */
  async abort(): Promise<void> {
    await this.#batches.settled()
    await this.#attempt(async () => (await this.#writer)?.abort())
  }

  #begun(): Promise<SnapshotWriter> {
    this.#writer ??= this.database.snapshot()
    return this.#writer
  }

  /** Never rejects: what fails is kept in `#failure`. */
  async #attempt(work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#failure ??= toStorageError(error)
    }
  }
}
