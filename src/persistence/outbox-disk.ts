import type { Clock } from '../base/environment.ts'
import { type SyncError, toStorageError } from '../base/errors.ts'
import { Timer } from '../base/timer.ts'
import type { Connection } from './connection.ts'
import type { Caller } from './meta.ts'
import {
  type OutboxChange,
  type OutboxRecord,
  type OutboxStore,
  type OutboxWritten,
  openOutbox,
  type StoredOutbox,
} from './outbox.ts'

/** The delay before a refused change is tried again, in ms. */
const retryMs = 10_000

export interface OutboxDiskOptions {
  readonly clock: Clock
  readonly connection: Connection
  readonly caller: Caller
  /** Drops the data because of `failure`, to make room for a transaction. Resolves once that is done; never rejects. */
  makeRoom(failure: SyncError): Promise<void>
  /** `refused` has changed. */
  onChange(): void
  /** A change that was refused may fit now: write it again. */
  onAgain(): void
}

/** Stores the transactions. Without a database, they are in memory only, and nothing fails. */
export class OutboxDisk {
  readonly #options: OutboxDiskOptions
  readonly #store: OutboxStore
  readonly #retry: Timer
  #isClosed = false
  #refused: SyncError | undefined

  constructor(options: OutboxDiskOptions) {
    this.#options = options
    this.#store = openOutbox(options.connection, options.caller)
    this.#retry = new Timer(options.clock, () => options.onAgain())
  }

  /** Stops trying refused changes again. */
  close(): void {
    this.#isClosed = true
    this.#retry.clear()
  }

  /** The error of the last change; `undefined` if it was stored. */
  get refused(): SyncError | undefined {
    return this.#refused
  }

  /** Reads as `OutboxStore.read` does. */
  async read(after?: string): Promise<StoredOutbox> {
    try {
      return await this.#store.read(after)
    } catch (error) {
      const failure = toStorageError(error)
      // The user has signed out in another tab: no change is stored any more.
      if (failure.code === 'signed_out') this.#refuse(failure)
      throw failure
    }
  }

  readLate(): Promise<readonly OutboxRecord[]> {
    return this.#store.readLate()
  }

  /**
   * Calls `body`, which writes changes. If that fails, calls it again: if there was no room, after the data is dropped,
   * which can be fetched again; if no database was open, in the one that is opened then, which may be an empty one.
   */
  async write<T>(body: (write: (change: OutboxChange) => Promise<OutboxWritten>) => Promise<T>): Promise<T> {
    const { connection, makeRoom } = this.#options
    const attempt = (isAgain: boolean) => body((change) => this.#store.write(change, isAgain))
    if (!connection.isOpen && connection.failure) void connection.attach()
    try {
      const result = await attempt(false).catch(async (error) => {
        const failure = toStorageError(error)
        if (failure.code === 'quota') await makeRoom(failure)
        else if (failure.code === 'closed' || connection.failure) await connection.attach()
        else throw failure
        if (connection.failure) throw failure
        return attempt(true)
      })
      this.#refuse(undefined)
      return result
    } catch (error) {
      const refused = toStorageError(error)
      this.#refuse(refused)
      throw refused
    }
  }

  #refuse(refused: SyncError | undefined): void {
    const { onChange, onAgain } = this.#options
    if (refused && !this.#isClosed) this.#retry.within(retryMs)
    if (refused?.code === this.#refused?.code) return
    this.#refused = refused
    onChange()
    if (refused) return
    this.#retry.clear()
    onAgain()
  }
}
