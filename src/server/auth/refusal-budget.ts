import type { Clock } from '../../base/environment.ts'
import { ChecksPaused } from './checks-paused.ts'

/** The number of refusals that are allowed at once, and the number that is allowed again each second. */
const maxRefusals = 30
const refusalsPerSecond = 2

/** The maximum number of calls that wait for their turn. */
const maxWaiting = 1_000

/** How long a client is asked to wait, in ms. */
const retryAfterMs = 1_000

interface Waiter {
  readonly start: () => void
  readonly fail: (error: Error) => void
}

/**
 * Limits calls by how many of them end with a refusal. Accepted calls cost nothing: after a restart, every token is
 * unknown. As many calls run at once as refusals are left.
 */
export class RefusalBudget {
  readonly #clock: Clock
  #running = 0
  #waiting: Waiter[] = []
  /** The number of refusals that still counted at the time `#at`, which is in ms since the epoch. */
  #refusals = 0
  #at = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Resolves or rejects as `call` does, which may wait for other calls first. Rejects with {@link ChecksPaused} if too
   * many calls were refused, or if too many wait.
   */
  async run<T>(call: () => Promise<T>, isRefusal: (result: T) => boolean): Promise<T> {
    const left = this.#left()
    if (left < 1 || this.#waiting.length >= maxWaiting) throw paused()
    if (this.#running < left) this.#running += 1
    else await new Promise<void>((start, fail) => this.#waiting.push({ start, fail }))
    // A provider that fails may be overloaded, so a failure counts as well.
    let isCharged = true
    try {
      const result = await call()
      isCharged = isRefusal(result)
      return result
    } finally {
      this.#running -= 1
      if (isCharged) this.#refusals += 1
      this.#wake()
    }
  }

  /** The number of refusals that are allowed now. */
  #left(): number {
    const now = this.#clock.now()
    const elapsed = Math.max(0, now - this.#at)
    this.#refusals = Math.max(0, this.#refusals - (elapsed * refusalsPerSecond) / 1_000)
    this.#at = now
    return maxRefusals - this.#refusals
  }

  #wake(): void {
    const left = this.#left()
    if (left < 1) for (const { fail } of this.#waiting.splice(0)) fail(paused())
    while (this.#running < left && this.#waiting.length > 0) {
      this.#running += 1
      this.#waiting.shift()?.start()
    }
  }
}

function paused(): ChecksPaused {
  return new ChecksPaused('Too many unknown tokens were refused, so none is checked now.', retryAfterMs)
}
