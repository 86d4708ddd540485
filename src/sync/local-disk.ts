import { StorageError, type SyncError, toStorageError } from '../base/errors.ts'
import type { Clock } from '../base/world.ts'
import type { Database, JournalEntry } from '../database/database.ts'
import { noDatabase } from '../database/none.ts'
import type { OutboxChange } from '../database/outbox.ts'
import type { StorageStatus } from '../session/status.ts'
import { Checkpointer } from './checkpointer.ts'
import { isWithin } from './is-within.ts'
import { Recorder } from './recorder.ts'

export interface LocalDiskOptions {
  readonly openDatabase: () => Promise<Database>
  readonly clock: Clock
  /** How storing goes may be another. */
  readonly onStatus: (status: StorageStatus, failure?: SyncError) => void
  /** The database was opened again, and may have lost the transactions. */
  readonly onReopened: () => void
  /** What is stored is not what was: only a snapshot helps. */
  readonly onLost: () => void
}

/** The database is opened again no more often than this, in ms: what comes after it may cost a snapshot. */
const reopenEveryMs = 10_000

/** So often that is tried in a row, with so long between two tries, in ms: an engine that clears data refuses for a moment. */
const mostTries = 3
const betweenTriesMs = 500

/** One identity's database, and whether what is taken comes to be durable there. */
export class LocalDisk {
  readonly #options: LocalDiskOptions
  readonly #checkpointer: Checkpointer
  #database: Database = noDatabase
  #recorder = new Recorder(noDatabase, () => {})
  #reopening: Promise<boolean> | undefined
  #reopenedAt = Number.NEGATIVE_INFINITY
  #isClosed = false
  /** Why the last transaction could not be stored, if it could not. */
  #refused: SyncError | undefined
  /** Why the data was given up since its replacement began, if it was. */
  #given: SyncError | undefined

  constructor(options: LocalDiskOptions) {
    this.#options = options
    this.#checkpointer = new Checkpointer({
      clock: options.clock,
      database: () => this.#database,
      onEnd: (failure) => this.#failed(failure ?? this.failure),
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
    if (!(await this.#openDatabase())) return false
    this.#recorder = new Recorder(this.#database, (failure) => this.#failed(failure))
    this.#recorder.suspend()
    this.#tell(undefined)
    return true
  }

  async #openDatabase(): Promise<boolean> {
    try {
      this.#database = await this.#options.openDatabase()
      return true
    } catch (error) {
      this.#tell(toStorageError(error))
      return false
    }
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
   * Runs `store`, which puts other data in place of what `database` holds, and gives why it could not. Resolves with why
   * it is not there: it may also have been given up meanwhile. Where the disk then has no `failure`, it was opened again.
   */
  async replace(
    database: Database,
    store: () => Promise<SyncError | undefined>,
  ): Promise<SyncError | undefined> {
    this.#checkpointer.abort()
    this.#recorder.suspend()
    this.#given = undefined
    await this.#recorder.settled()
    const failure = (await store()) ?? this.#given
    if (!failure) this.#recorder.resume()
    else if (!(await this.#isReopened(database, failure))) this.#recorder.fail(failure)
    return failure
  }

  /** Changes the transactions. Where there is no room, the data is given up for them, which can be fetched again. */
  async writeOutbox(change: OutboxChange): Promise<boolean> {
    try {
      const written = await this.#writeOpened(change)
      this.#refuse(undefined)
      return written
    } catch (error) {
      const refused = toStorageError(error)
      this.#refuse(refused)
      throw refused
    }
  }

  async #writeOpened(change: OutboxChange): Promise<boolean> {
    const database = this.#database
    try {
      return await this.#makeRoomFor(change)
    } catch (error) {
      if (!(await this.#isReopened(database, toStorageError(error)))) throw error
      return this.#makeRoomFor(change)
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
    this.#isClosed = true
    this.#checkpointer.abort()
    await this.#recorder.settled()
    await this.#reopening
    this.#database.close()
  }

  /** Gives whether another database is open in place of `database`, where the engine closed that, as `failure` tells. */
  async #isReopened(database: Database, failure: SyncError): Promise<boolean> {
    if (this.#database !== database) return true
    if (this.#isClosed || failure.code !== 'closed' || !failure.retryable) return false
    this.#reopening ??= this.#reopen().finally(() => {
      this.#reopening = undefined
    })
    return this.#reopening
  }

  async #reopen(): Promise<boolean> {
    const { clock, onReopened } = this.#options
    if (isWithin(clock, this.#reopenedAt, reopenEveryMs)) return false
    this.#checkpointer.abort()
    const old = this.#database
    let isOpen = await this.#openDatabase()
    for (let tries = 1; !isOpen && tries < mostTries && !this.#isClosed; tries += 1) {
      await new Promise<void>((resolve) => clock.after(betweenTriesMs, resolve))
      isOpen = await this.#openDatabase()
    }
    this.#reopenedAt = clock.now()
    if (!isOpen) return false
    old.close()
    if (this.#isClosed) return true
    this.#recorder.use(this.#database)
    this.#tell(this.failure)
    onReopened()
    return true
  }

  #failed(failure: SyncError | undefined): void {
    this.#tell(failure)
    if (failure?.code === 'broken_link') this.#options.onLost()
    else if (failure) void this.#isReopened(this.#database, failure)
  }

  #refuse(refused: SyncError | undefined): void {
    if (refused?.code === this.#refused?.code) return
    this.#refused = refused
    this.#tell(this.failure)
  }

  #tell(cause: SyncError | undefined): void {
    const failure = cause ?? this.#refused
    const { kind } = this.#database
    this.#options.onStatus(failure ? { kind, reason: failure.message } : { kind }, failure)
  }
}
