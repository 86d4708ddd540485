import type { Unsubscribe } from './emitter.ts'
import type { Clock } from './environment.ts'

/** A timer that can be set again. */
export class Timer {
  readonly #clock: Clock
  readonly #onFire: () => void
  #cancel: Unsubscribe | undefined
  #at = Number.POSITIVE_INFINITY

  constructor(clock: Clock, onFire: () => void) {
    this.#clock = clock
    this.#onFire = onFire
  }

  /** The time when the timer fires, in ms since the epoch; infinity if it is not set. */
  get at(): number {
    return this.#at
  }

  /** Fires after `ms`, instead of at the time that was set before. */
  set(ms: number): void {
    this.clear()
    this.#at = this.#clock.now() + ms
    this.#cancel = this.#clock.after(ms, () => {
      this.#at = Number.POSITIVE_INFINITY
      this.#onFire()
    })
  }

  /** Fires after `ms` or at the time that was set before, whichever comes first. */
  within(ms: number): void {
    if (this.#clock.now() + ms < this.#at) this.set(ms)
  }

  clear(): void {
    this.#cancel?.()
    this.#at = Number.POSITIVE_INFINITY
  }
}
