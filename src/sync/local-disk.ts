import { StorageError, type SyncError, toStorageError } from '../base/errors.ts'
import type { Clock } from '../base/world.ts'
import type { Database, JournalEntry } from '../database/database.ts'
import { noDatabase } from '../database/none.ts'
import type { OutboxChange } from '../database/outbox.ts'
import type { StorageStatus } from '../session/status.ts'
import { Checkpointer } from './checkpointer.ts'
import { Recorder } from './recorder.ts'

export interface LocalDiskOptions {
  readonly openDatabase: () => Promise<Database>
  readonly clock: Clock
  /** How storing goes may be another. */
  readonly onStatus: (status: StorageStatus, failure?: SyncError) => void
}

/** One identity's database, and whether what is taken comes to be durable there. */
export class LocalDisk {
  readonly #options: LocalDiskOptions
  readonly #checkpointer: Checkpointer
  #database: Database = noDatabase
  #recorder = new Recorder(noDatabase, () => {})
  /** Why the last transaction could not be stored, if it could not. */
  #refused: SyncError | undefined
  /** Why the data was given up since its replacement began, if it was. */
  #given: SyncError | undefined

  constructor(options: LocalDiskOptions) {
    this.#options = options
    this.#checkpointer = new Checkpointer({
      clock: options.clock,
      database: () => this.#database,
      onEnd: (failure) => this.#tell(failure ?? this.failure),
    })
  }

  get database(): Database {
    return this.#database
  }

  /** Why what is taken is not stored, if it is not. */
  get failure(): SyncError | undefined {
    return this.#recorder.failure
  }

  /** Gives whether there is a database. What is recorded is not stored until `resume`: it would follow from nothing. */
  async open(): Promise<boolean> {
    try {
      this.#database = await this.#options.openDatabase()
    } catch (error) {
      this.#tell(toStorageError(error))
      return false
    }
    this.#recorder = new Recorder(this.#database, (failure) => this.#tell(failure))
    this.#recorder.suspend()
    this.#tell(undefined)
    return true
  }

  /** Stores a proven delta, in its turn. */
  record(entry: JournalEntry): void {
    this.#recorder.record(entry)
    this.#checkpointer.soon()
  }

  /** What is stored is what is here: what comes now follows from it. */
  resume(): void {
    this.#recorder.resume()
  }

  /** Stores nothing of what follows until the next snapshot. With `failure`, that is not to be expected soon, and is told. */
  suspend(failure?: SyncError): void {
    if (failure) this.#recorder.fail(failure)
    else this.#recorder.suspend()
  }

  /**
   * Runs `store`, which puts other data in place of what is stored, and gives why it could not. Resolves with why it is
   * not there: it may also have been given up meanwhile.
   */
  async replace(store: () => Promise<SyncError | undefined>): Promise<SyncError | undefined> {
    this.#checkpointer.abort()
    this.#recorder.suspend()
    this.#given = undefined
    await this.#recorder.settled()
    const failure = (await store()) ?? this.#given
    if (failure) this.#recorder.fail(failure)
    else this.#recorder.resume()
    return failure
  }

  /** Changes the transactions. Where there is no room, the data is given up for them, which can be fetched again. */
  async writeOutbox(change: OutboxChange): Promise<boolean> {
    let refused: SyncError | undefined
    try {
      return await this.#makeRoomFor(change)
    } catch (error) {
      refused = toStorageError(error)
      throw refused
    } finally {
      if (refused?.code !== this.#refused?.code) {
        this.#refused = refused
        this.#tell(this.failure)
      }
    }
  }

  async #makeRoomFor(change: OutboxChange): Promise<boolean> {
    try {
      return await this.#database.outbox.write(change)
    } catch (error) {
      const failure = toStorageError(error)
      if (failure.code !== 'quota') throw failure
      this.#checkpointer.abort()
      this.#recorder.fail(failure)
      this.#given = failure
      await this.#database.drop()
      return await this.#database.outbox.write(change)
    }
  }

  /** Resolves once all that was recorded is durable; rejects with a StorageError where it cannot be made so. */
  async stored(): Promise<void> {
    await this.#recorder.settled()
    const { failure, suspended } = this.#recorder
    if (failure) throw failure
    if (suspended) throw new StorageError('aborted', 'Nothing is stored before the next snapshot.')
  }

  /** Resolves once all that was recorded is durable, or cannot be made so. */
  settled(): Promise<void> {
    return this.#recorder.settled()
  }

  async close(): Promise<void> {
    this.#checkpointer.abort()
    await this.#recorder.settled()
    this.#database.close()
  }

  #tell(cause: SyncError | undefined): void {
    const failure = cause ?? this.#refused
    const { kind } = this.#database
    this.#options.onStatus(failure ? { kind, reason: failure.message } : { kind }, failure)
  }
}
