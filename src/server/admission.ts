import type { Clock } from '../base/environment.ts'

/** The maximum number of requests that begin at once. */
const maxAtOnce = 16

/** The maximum number of turns of the event loop between two batches. */
const maxTurns = 64

/**
 * The maximum number of waiting requests: of one caller, and of all callers. Once `maxShared` wait in all, each caller may
 * have its share of `maxShared`. A waiting request holds the part of its body that has arrived.
 */
const maxOfCaller = 1_000
const maxShared = 5_000
const maxOfAll = 20_000

/**
 * Decides which requests begin, before anything is done for them: a few at once, and callers take turns. So thousands of
 * requests in the same moment keep no other caller waiting. Between two batches, Node accepts connections, one in each
 * turn of the event loop.
 *
 * Nobody is authenticated yet: requests with the same credentials, valid or not, are of one caller. The number of waiting
 * requests is bounded, and so is the number of callers. Further requests are refused, first those of callers with many.
 */
export class Admission {
  readonly #clock: Clock
  /** The requests of each caller that wait. The caller whose turn is next comes first. */
  readonly #lines = new Map<string, (() => void)[]>()
  #waiting = 0
  /** How many requests may still begin before the next batch. */
  #left = maxAtOnce
  #isWorking = false
  /** How many requests have arrived in the current turn. */
  #arrived = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Resolves with true once a request of `caller` may begin, or with false at once if it is refused. */
  enter(caller: string): Promise<boolean> {
    this.#arrived += 1
    if (this.#waiting === 0 && this.#left > 0) {
      this.#left -= 1
      void this.#work()
      return Promise.resolve(true)
    }
    const line = this.#lines.get(caller) ?? []
    const max = this.#waiting < maxShared ? maxOfCaller : maxShared / this.#lines.size
    if (this.#waiting >= maxOfAll || line.length >= max) return Promise.resolve(false)
    this.#lines.set(caller, line)
    this.#waiting += 1
    return new Promise((resolve) => {
      line.push(() => resolve(true))
      void this.#work()
    })
  }

  /** Lets requests begin until none waits. */
  async #work(): Promise<void> {
    if (this.#isWorking) return
    this.#isWorking = true
    do {
      await this.#arrivals()
      this.#left = maxAtOnce
      while (this.#left > 0 && this.#waiting > 0) this.#begin()
    } while (this.#waiting > 0)
    this.#isWorking = false
  }

  /** Resolves after a turn in which no request has arrived: as long as requests arrive, others may still be unread. */
  async #arrivals(): Promise<void> {
    for (let left = maxTurns; left > 0; left -= 1) {
      this.#arrived = 0
      await this.#clock.pause()
      if (this.#arrived === 0) return
    }
  }

  /** Lets the first request of the next caller begin. The caller's turn comes again after all others. */
  #begin(): void {
    const [next] = this.#lines
    if (!next) return
    const [caller, line] = next
    this.#lines.delete(caller)
    const begin = line.shift()
    if (line.length > 0) this.#lines.set(caller, line)
    this.#waiting -= 1
    this.#left -= 1
    begin?.()
  }
}
