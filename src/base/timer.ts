import type { Unsubscribe } from './emitter.ts'
import type { Clock } from './environment.ts'

/** One timer that can be set again. */
export class Timer {
  readonly #clock: Clock
  readonly #ring: () => void
  #cancel: Unsubscribe | undefined
  #at = Number.POSITIVE_INFINITY

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock
    this.#ring = ring
  }

  /** When it will ring, in ms since the epoch; infinity where it is not set. */
  get at(): number {
    return this.#at
  }

  /** Rings after `ms`, and not when it was to ring before. */
  set(ms: number): void {
    this.clear()
    this.#at = this.#clock.now() + ms
    this.#cancel = this.#clock.after(ms, () => {
      this.#at = Number.POSITIVE_INFINITY
      this.#ring()
    })
  }

  /** Rings after `ms` at the latest. */
  within(ms: number): void {
    if (this.#clock.now() + ms < this.#at) this.set(ms)
  }

  clear(): void {
    this.#cancel?.()
    this.#at = Number.POSITIVE_INFINITY
  }
}
