import type { Clock } from '../base/environment.ts'
import { type SyncError, toStorageError } from '../base/errors.ts'
import { isWithin } from '../base/is-within.ts'
import { Timer } from '../base/timer.ts'
import type { Database } from './database.ts'
import type { OutboxChange, OutboxWritten, StoredOutbox } from './outbox.ts'

/** After this time, in ms, a change is not tried a third time if the browser closes the database over and over. */
const maxMs = 20_000

export interface OutboxDiskOptions {
  readonly clock: Clock
  readonly database: () => Database
  /** Resolves with whether another database is open instead of `database`, which failed with `failure`. */
  openAfter(database: Database, failure: SyncError): Promise<boolean>
  /** Drops the data because of `failure`, to make room for a transaction. Resolves once that is done; never rejects. */
  makeRoom(failure: SyncError): Promise<void>
  /** `refused` has changed. */
  onChange(): void
  /** A change that was refused may fit now: write it again. */
  onAgain(): void
}

/** The delay before a refused change is tried again, in ms. */
const retryMs = 10_000

/** Stores the transactions in the database that is open at the time. */
export class OutboxDisk {
  readonly #options: OutboxDiskOptions
  readonly #retry: Timer
  /** When `close` was called, in ms since the epoch. */
  #closedAt: number | undefined
  #refused: SyncError | undefined

  constructor(options: OutboxDiskOptions) {
    this.#options = options
    this.#retry = new Timer(options.clock, () => options.onAgain())
  }

  /** Stops trying refused changes again. Later changes share the maximum time of one. */
  close(): void {
    this.#closedAt ??= this.#options.clock.now()
    this.#retry.clear()
  }

  /** The error of the last change; `undefined` if it was stored. */
  get refused(): SyncError | undefined {
    return this.#refused
  }

  /** Reads as `OutboxStore.read` does. */
  async read(after?: string): Promise<StoredOutbox> {
    try {
      return await this.#options.database().outbox.read(after)
    } catch (error) {
      const failure = toStorageError(error)
      // The user has signed out in another tab: no change is stored any more.
      if (failure.code === 'signed_out') this.#refuse(failure)
      throw failure
    }
  }

  /** Writes `change` as `OutboxStore.write` does. If there is no room, drops the data, which can be fetched again. */
  async write(change: OutboxChange): Promise<OutboxWritten> {
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

  async #writeOpened(change: OutboxChange): Promise<OutboxWritten> {
    const { clock, database: current, openAfter } = this.#options
    const begunAt = clock.now()
    for (let isAgain = false; ; isAgain = true) {
      const database = current()
      try {
        return await this.#makeRoomFor(change, isAgain)
      } catch (error) {
        // A page that does not close may have stood still during the first try.
        const isFirst = !isAgain && this.#closedAt === undefined
        const isToTry = isFirst || isWithin(clock, this.#closedAt ?? begunAt, maxMs)
        if (!isToTry || !(await openAfter(database, toStorageError(error)))) throw error
      }
    }
  }

  async #makeRoomFor(change: OutboxChange, isAgain: boolean): Promise<OutboxWritten> {
    const { database, makeRoom } = this.#options
    try {
      return await database().outbox.write(change, isAgain)
    } catch (error) {
      const failure = toStorageError(error)
      if (failure.code !== 'quota') throw failure
      await makeRoom(failure)
      return await database().outbox.write(change, true)
    }
  }

  #refuse(refused: SyncError | undefined): void {
    const { onChange, onAgain } = this.#options
    if (refused && this.#closedAt === undefined) this.#retry.within(retryMs)
    if (refused?.code === this.#refused?.code) return
    this.#refused = refused
    onChange()
    if (refused) return
    this.#retry.clear()
    onAgain()
  }
}
