import type { Clock } from '../base/environment.ts'
import { type SyncError, toStorageError } from '../base/errors.ts'
import { isWithin } from '../base/is-within.ts'
import { Timer } from '../base/timer.ts'
import type { Database } from './database.ts'
import { noDatabase } from './none.ts'

/** So often in a row opening again is tried: an engine that clears data refuses for a moment. */
const maxTries = 3

/** How long the second opening in a row waits, in ms; each one after it four times longer, up to the most. */
const secondMs = 500
const maxMs = 8_000

/** What does not open is tried again after this long, in ms; each time after it waits four times longer. */
const againMs = 60_000

/** What was opened this long ago, in ms, is no longer one of those in a row. */
const calmMs = 60_000

export interface OpenerOptions {
  /** `beside`: another client has the data, and keeps it. */
  readonly openDatabase: (beside: boolean) => Promise<Database>
  /** Whether another client has the data. */
  readonly isOthers: () => boolean
  readonly clock: Clock
  readonly listener: OpenerListener
}

export interface OpenerListener {
  /** `failure` is another. */
  failed(): void
  /** The engine closed the database, and said so by itself. */
  lost(database: Database, failure: SyncError): void
  /** Another database is open in place of `old`, which the engine closed, or which stood for one. It may be empty. */
  reopened(database: Database, old: Database): void
}

/** Opens one identity's database: later where it does not open, and again where the engine closes it by itself. */
export class Opener {
  readonly #options: OpenerOptions
  readonly #again: Timer
  #againMs = againMs
  #database = noDatabase
  #failure: SyncError | undefined
  #reopening: Promise<boolean> | undefined
  /** How many were opened again in a row, and when the last was, in ms since the epoch. */
  #count = 0
  #at = Number.NEGATIVE_INFINITY
  #isClosed = false
  #wake = () => {}

  constructor(options: OpenerOptions) {
    this.#options = options
    this.#again = new Timer(options.clock, () => {
      this.#againMs *= 4
      void this.#openAgain()
    })
  }

  get database(): Database {
    return this.#database
  }

  /** Why none is open, if none is. */
  get failure(): SyncError | undefined {
    return this.#failure
  }

  /** Gives whether there is a database. */
  async open(): Promise<boolean> {
    const { openDatabase, isOthers, listener } = this.#options
    try {
      const database = await openDatabase(isOthers())
      this.#database = database
      this.#failure = undefined
      this.#again.clear()
      database.onLost((failure) => {
        if (database === this.#database) this.#failure = failure
        listener.lost(database, failure)
      })
      return true
    } catch (error) {
      this.#failure = toStorageError(error)
      this.#again.set(this.#againMs)
      listener.failed()
      return false
    }
  }

  /**
   * Gives whether another database is open in place of `database`; where the engine closed that, as `failure` tells, it
   * is opened first.
   */
  async openAfter(database: Database, failure: SyncError | undefined): Promise<boolean> {
    if (this.#database !== database) return true
    if (this.#isClosed || !isForced(failure)) return false
    return this.#openAgain()
  }

  /** Gives whether it is open, while it is being opened again. */
  get reopening(): Promise<boolean> | undefined {
    return this.#reopening
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#wake()
    await this.#reopening
    this.#again.clear()
    this.#database.close()
  }

  #openAgain(): Promise<boolean> {
    this.#reopening ??= this.#reopen().finally(() => {
      this.#reopening = undefined
    })
    return this.#reopening
  }

  async #reopen(): Promise<boolean> {
    const old = this.#database
    for (let tries = 0; tries < maxTries; tries += 1) {
      await this.#wait()
      if (this.#isClosed) return false
      if (await this.open()) {
        old.close()
        this.#options.listener.reopened(this.#database, old)
        return true
      }
      if (!isForced(this.#failure)) return false
    }
    return false
  }

  async #wait(): Promise<void> {
    const { clock } = this.#options
    if (!isWithin(clock, this.#at, calmMs)) this.#count = 0
    const ms = this.#count === 0 ? 0 : Math.min(secondMs * 4 ** (this.#count - 1), maxMs)
    this.#count += 1
    if (ms > 0) {
      await new Promise<void>((resolve) => {
        const cancel = clock.after(ms, resolve)
        this.#wake = () => {
          cancel()
          resolve()
        }
      })
    }
    this.#at = clock.now()
  }
}

/** Whether the engine closed it by itself, and another one can be opened. */
function isForced(failure: SyncError | undefined): boolean {
  return failure?.code === 'closed' && failure.retryable
}
