import { type SyncError, toStorageError } from '../base/errors.ts'
import type { Database, SnapshotWriter } from '../database/database.ts'
import type { SnapshotHead } from '../protocol/bootstrap.ts'
import type { SnapshotSlice } from '../transport/transport.ts'

/** So many pages may be on their way to the disk while the next ones arrive. */
const mostUnderWay = 4

/** Writes a snapshot's slices as pages. A store that fails does not stop the snapshot: it is then in memory alone. */
export class PageSink {
  readonly #database: Database
  #writer: SnapshotWriter | undefined
  readonly #underWay = new Set<Promise<void>>()
  #failure: SyncError | undefined

  constructor(database: Database) {
    this.#database = database
  }

  /** Resolves when there is room for the next one. */
  async add({ text, rows }: SnapshotSlice): Promise<void> {
    if (this.#failure) return
    const types = new Map<string, number>()
    for (const { t } of rows) types.set(t, (types.get(t) ?? 0) + 1)
    await this.#attempt(async () => {
      this.#writer ??= await this.#database.snapshot()
    })
    const writing = this.#attempt(() => this.#writer?.page({ text, types: [...types] }))
    this.#underWay.add(writing)
    void writing.then(() => this.#underWay.delete(writing))
    if (this.#underWay.size >= mostUnderWay) await Promise.race(this.#underWay)
  }

  /** Makes the snapshot the stored copy. Resolves with why it could not, if it could not. */
  async commit(head: SnapshotHead): Promise<SyncError | undefined> {
    await Promise.all(this.#underWay)
    if (!this.#failure) {
      await this.#attempt(async () => {
        this.#writer ??= await this.#database.snapshot()
        await this.#writer.commit(head)
      })
    }
    if (this.#failure) await this.abort()
    return this.#failure
  }

  /** Drops what was written, as far as the store lets it. */
  async abort(): Promise<void> {
    await Promise.all(this.#underWay)
    await this.#attempt(() => this.#writer?.abort())
  }

  /** Never rejects: what fails is kept in `#failure`. */
  async #attempt(write: () => Promise<void> | undefined): Promise<void> {
    try {
      await write()
    } catch (error) {
      this.#failure ??= toStorageError(error)
    }
  }
}
