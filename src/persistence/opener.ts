import type { Clock } from '../base/environment.ts'
import { type SyncError, toStorageError } from '../base/errors.ts'
import { isWithin } from '../base/is-within.ts'
import { Timer } from '../base/timer.ts'
import type { Database } from './database.ts'
import { noDatabase } from './none.ts'

/** Maximum attempts in a row to open the database again: a browser that clears data refuses for a moment. */
const maxTries = 3

/** The delay before the second opening in a row, in ms. Each later delay is four times longer, up to `maxMs`. */
const secondMs = 500
const maxMs = 8_000

/** The delay before the next attempt after a failed opening, in ms. Each later delay is four times longer. */
const retryMs = 10_000

/** After this time without an opening, in ms, the next opening counts as the first in a row. */
const calmMs = 60_000

export interface OpenerOptions {
  /**
   * `isSame`: this must be the same database as before, since the browser has not closed it and so cannot have emptied
   * it.
   */
  readonly openDatabase: (isSame: boolean) => Promise<Database>
  readonly clock: Clock
  readonly listener: OpenerListener
}

export interface OpenerListener {
  /** `failure` has changed. */
  failed(): void
  /** The browser closed the database and reported it. */
  lost(database: Database, failure: SyncError): void
  /**
   * `database` is open instead of `old`, which is the placeholder if none was open before. `isSame`: it has all that
   * `old` had. If not, the browser closed `old`, and `database` may be empty.
   */
  reopened(database: Database, old: Database, isSame: boolean): void
}

/** Opens the database of one identity: again if the browser closes it, and later if it does not open. */
export class Opener {
  readonly #options: OpenerOptions
  readonly #retry: Timer
  #retryMs = retryMs
  #database = noDatabase
  /** Whether the browser has closed the database since it was last open, and may have emptied it. */
  #isLost = false
  #failure: SyncError | undefined
  #reopening: Promise<boolean> | undefined
  /** The number of openings in a row, and when the last one was, in ms since the epoch. */
  #count = 0
  #at = Number.NEGATIVE_INFINITY
  #isClosed = false
  /** Something has deleted the database on purpose, or opened a newer version of it. It is never opened again. */
  #isGone = false
  #wake = () => {}

  constructor(options: OpenerOptions) {
    this.#options = options
    this.#retry = new Timer(options.clock, () => {
      this.#retryMs *= 4
      void this.openAgain()
    })
  }

  get database(): Database {
    return this.#database
  }

  /** Why no database is open; `undefined` if one is open. */
  get failure(): SyncError | undefined {
    return this.#failure
  }

  /**
   * Opens the database. Resolves with whether it is the `same` as before, or `another`, which may be empty; with
   * `undefined` if it does not open. Never rejects.
   */
  async open(isSame = false): Promise<'same' | 'another' | undefined> {
    const { openDatabase, listener } = this.#options
    try {
      const database = await openDatabase(isSame)
      this.#database = database
      const opened = isSame && !this.#isLost ? 'same' : 'another'
      this.#failure = undefined
      this.#isLost = false
      this.#retry.clear()
      database.onLost((failure) => {
        if (database === this.#database) {
          this.#failure = failure
          this.#isLost = failure.retryable
          this.#isGone = failure.code === 'closed' && !failure.retryable
        }
        listener.lost(database, failure)
      })
      return opened
    } catch (error) {
      this.#failure = toStorageError(error)
      if (isClosedByBrowser(this.#failure)) this.#isLost = true
      this.#retry.set(this.#retryMs)
      listener.failed()
      return undefined
    }
  }

  /**
   * Resolves with whether another database is open instead of `database`. If `failure` says that the browser closed
   * `database`, opens it again first.
   */
  async openAfter(database: Database, failure: SyncError | undefined): Promise<boolean> {
    if (this.#database !== database) return true
    if (this.#isClosed || !isClosedByBrowser(failure)) return false
    return this.openAgain()
  }

  /** The opening under way, if there is one: a promise of whether it succeeded. */
  get reopening(): Promise<boolean> | undefined {
    return this.#reopening
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#wake()
    await this.#reopening
    this.#retry.clear()
    this.#database.close()
  }

  /**
   * Opens the database again. Resolves with whether it is open; never rejects. `atOnce`: without a delay before the
   * first try, because the open database works.
   */
  openAgain(atOnce = false): Promise<boolean> {
    this.#reopening ??= this.#reopen(atOnce).finally(() => {
      this.#reopening = undefined
    })
    return this.#reopening
  }

  async #reopen(atOnce: boolean): Promise<boolean> {
    const old = this.#database
    if (this.#isGone) return false
    for (let tries = 0; tries < maxTries; tries += 1) {
      if (!atOnce || tries > 0) await this.#wait()
      if (this.#isClosed) return false
      const opened = await this.open(atOnce && !this.#isLost)
      if (opened) {
        old.close()
        this.#options.listener.reopened(this.#database, old, opened === 'same')
        return true
      }
      if (!isClosedByBrowser(this.#failure)) return false
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

/** Whether the browser closed the database by itself, so that it can be opened again. */
function isClosedByBrowser(failure: SyncError | undefined): boolean {
  return failure?.code === 'closed' && failure.retryable
}
