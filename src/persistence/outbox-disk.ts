import type { Clock } from '../base/environment.ts'
import { type SyncError, toStorageError } from '../base/errors.ts'
import { Timer } from '../base/timer.ts'
import type { Database } from './database.ts'
import type { OutboxChange } from './outbox.ts'

/** So often one change of the transactions is tried where the engine closes the database under it. */
const maxTries = 3

export interface OutboxDiskOptions {
  readonly clock: Clock
  readonly database: () => Database
  /** Gives whether another database is open in place of `database`, of which `failure` tells. */
  openAfter(database: Database, failure: SyncError): Promise<boolean>
  /** The data makes room: of `failure`, it is about to be dropped. */
  onDrop(failure: SyncError): void
  /** `refused` is another. */
  onChange(): void
  /** What was refused may be taken now. */
  onAgain(): void
}

/** How often what was refused is tried again, in ms. */
const againMs = 10_000

/** Stores the transactions, in the database that is open. */
export class OutboxDisk {
  readonly #options: OutboxDiskOptions
  readonly #again: Timer
  #isClosed = false
  #refused: SyncError | undefined

  constructor(options: OutboxDiskOptions) {
    this.#options = options
    this.#again = new Timer(options.clock, () => options.onAgain())
  }

  /** Tries nothing again. */
  close(): void {
    this.#isClosed = true
    this.#again.clear()
  }

  /** Why the last change could not be stored, if it could not. */
  get refused(): SyncError | undefined {
    return this.#refused
  }

  /** As `OutboxStore.write`. Where there is no room, the data is given up for it, which can be fetched again. */
  async write(change: OutboxChange): Promise<readonly string[]> {
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

  async #writeOpened(change: OutboxChange, tries = 1): Promise<readonly string[]> {
    const database = this.#options.database()
    try {
      return await this.#makeRoomFor(change)
    } catch (error) {
      const isOpen = tries < maxTries && (await this.#options.openAfter(database, toStorageError(error)))
      if (!isOpen) throw error
      return this.#writeOpened(change, tries + 1)
    }
  }

  async #makeRoomFor(change: OutboxChange): Promise<readonly string[]> {
    const { database, onDrop } = this.#options
    try {
      return await database().outbox.write(change)
    } catch (error) {
      const failure = toStorageError(error)
      if (failure.code !== 'quota') throw failure
      onDrop(failure)
      // Data that cannot go, as that of another tab, makes no room: then the write says so.
      await database()
        .drop()
        .catch(() => {})
      return await database().outbox.write(change)
    }
  }

  #refuse(refused: SyncError | undefined): void {
    const { onChange, onAgain } = this.#options
    if (refused && !this.#isClosed) this.#again.within(againMs)
    if (refused?.code === this.#refused?.code) return
    this.#refused = refused
    onChange()
    if (refused) return
    this.#again.clear()
    onAgain()
  }
}
