import { type SyncError, toStorageError } from '../base/errors.ts'
import type { SnapshotSlice } from '../network/transport.ts'
import type { SnapshotHead } from '../protocol/bootstrap.ts'
import type { Data } from './data.ts'
import { PageBatches } from './page-batches.ts'
import { typesOf } from './pages.ts'
import type { Repair } from './repair.ts'
import type { SnapshotWriter } from './stored-data.ts'

/** Writes a snapshot's slices as pages. If the store fails, the snapshot goes on in memory only. */
export class PageSink {
  /** The term of this client when the snapshot began. */
  readonly term: number | undefined
  readonly #data: Pick<Data, 'snapshot'>
  readonly #batches: PageBatches
  #writer: Promise<SnapshotWriter> | undefined
  #failure: SyncError | undefined
  #copy: string | undefined

  constructor(data: Pick<Data, 'snapshot'>, term: number | undefined) {
    this.term = term
    this.#data = data
    this.#batches = new PageBatches((pages) =>
      this.#attempt(async () => (await this.#beginOnce()).page(...pages)),
    )
  }

  /** The first error; `undefined` while all writes succeed. */
  get failure(): SyncError | undefined {
    return this.#failure
  }

  /** The name of the stored copy; `undefined` before it is stored. */
  get copy(): string | undefined {
    return this.#copy
  }

  /** Resolves when the next slice may be added. */
  async add({ text, rows }: SnapshotSlice): Promise<void> {
    if (this.#failure || rows.length === 0) return
    await this.#batches.add({ text, types: typesOf(rows) })
  }

  /** Makes the snapshot the stored copy. Resolves with the error if that failed, and with `undefined` otherwise. */
  async commit(head: SnapshotHead, repair?: Partial<Repair>): Promise<SyncError | undefined> {
    if (!this.#failure) await this.#batches.flush()
    if (!this.#failure) {
      await this.#attempt(async () => {
        this.#copy = await (await this.#beginOnce()).commit(head, repair)
      })
    }
    if (this.#failure) await this.abort()
    return this.#failure
  }

  /** Removes the pages written so far. Ignores errors of the store. */
  async abort(): Promise<void> {
    await this.#batches.settled()
    await this.#attempt(async () => (await this.#writer)?.abort())
  }

  #beginOnce(): Promise<SnapshotWriter> {
    this.#writer ??= this.#data.snapshot()
    return this.#writer
  }

  /** Never rejects: keeps the first error in `#failure`. */
  async #attempt(work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#failure ??= toStorageError(error)
    }
  }
}
