import type { Clock } from '../base/environment.ts'
import { isWithin } from '../base/is-within.ts'

const maxRequests = 5
const withinMs = 500

/**
 * Detects a client that repeats the same request, whatever the cause: more than 5 requests at one position within
 * 500 ms.
 */
export class LoopGuard {
  readonly #clock: Clock
  #position: number | undefined
  #times: number[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts a request. Returns `false` if the request must not be made. */
  allows(position: number | undefined): boolean {
    if (position !== this.#position) this.#times = []
    this.#position = position
    this.#times = this.#times.filter((time) => isWithin(this.#clock, time, withinMs))
    if (this.#times.length >= maxRequests) return false
    this.#times.push(this.#clock.now())
    return true
  }
}
