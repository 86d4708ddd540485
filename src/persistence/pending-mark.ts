import type { Clock, LocalStorageLike } from '../base/environment.ts'
import { Timer } from '../base/timer.ts'

/** The minimum time between two writes of the mark, in ms. */
const everyMs = 1_000

/**
 * Keeps the number of pending transactions outside the database. If the database is new at a start, the number shows
 * how many transactions are lost. If the browser does not keep the number, a loss is not noticed.
 */
export class PendingMark {
  readonly #storage: LocalStorageLike
  readonly #key: string
  readonly #due: Timer
  #isWaiting = false
  #found: number | undefined
  /** `undefined` while another client sets the mark. */
  #pending: number | undefined
  #marked: number | undefined

  constructor(storage: LocalStorageLike, clock: Clock, name: string) {
    this.#storage = storage
    this.#key = `${name}:pending`
    this.#due = new Timer(clock, () => {
      this.#isWaiting = false
      this.#mark()
    })
  }

  /** The number that the mark had before this client set it. */
  get found(): number {
    this.#found ??= this.#read()
    return this.#found
  }

  /** Sets the mark to `pending`, at once or a second after the last change. `undefined`: another client sets it. */
  set(pending: number | undefined): void {
    if (pending === undefined) this.#marked = undefined
    this.#pending = pending
    if (!this.#isWaiting) this.#mark()
  }

  /** Writes the last number at once. */
  close(): void {
    this.#due.clear()
    this.#mark()
  }

  #read(): number {
    try {
      return Number(this.#storage.getItem(this.#key)) || 0
    } catch {
      return 0
    }
  }

  #mark(): void {
    if (this.#pending === undefined || this.#pending === this.#marked) return
    // Read the mark that was found before this one replaces it.
    void this.found
    this.#marked = this.#pending
    this.#isWaiting = true
    this.#due.set(everyMs)
    try {
      if (this.#pending > 0) this.#storage.setItem(this.#key, `${this.#pending}`)
      else this.#storage.removeItem(this.#key)
    } catch {
      // The browser blocks the storage, or there is no room.
    }
  }
}
