import { check } from '../base/check-options.ts'
import type { Clock } from '../base/environment.ts'
import { isNumber } from './checks.ts'
import { settle, turn } from './turns.ts'

interface Timer {
  readonly at: number
  readonly callback: () => void
}

const anHour = 3_600_000

/** The first moment of 2026, UTC. */
const newYear = 1_767_225_600_000

/** A clock that moves only by `advance` and `until`, without waiting for real time. */
export class VirtualClock implements Clock {
  #now: number
  readonly #timers = new Set<Timer>()
  readonly #work = new Set<Promise<unknown>>()

  constructor(now = newYear) {
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + Math.max(0, ms), callback }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  pause(): Promise<void> {
    return turn()
  }

  /** The number of timers that have not fired. */
  get timers(): number {
    return this.#timers.size
  }

  /** Stops the clock until `work` has settled, however long that takes in real time, such as loading a module. */
  during<T>(work: Promise<T>): Promise<T> {
    this.#work.add(work)
    const done = () => void this.#work.delete(work)
    work.then(done, done)
    return work
  }

  /** Advances the clock by `ms`. Runs all timers that become due, in order, and all work that follows from them. */
  async advance(ms: number): Promise<void> {
    check('ms', ms, isNumber)
    const end = this.#now + ms
    await this.#settle()
    for (let next = this.#next(end); next; next = this.#next(end)) await this.#run(next)
    // An overlapping call may have advanced the clock further.
    if (end > this.#now) this.#now = end
  }

  /**
   * Advances the clock from timer to timer until `promise` has settled, and settles as `promise` does. Rejects with an
   * Error if `promise` is still pending after `limitMs`, or if no timer is left.
   */
  async until<T>(promise: Promise<T>, limitMs = anHour): Promise<T> {
    const end = this.#now + limitMs
    let pending = true
    const settled = () => {
      pending = false
    }
    promise.then(settled, settled)
    for (await this.#settle(); pending; ) {
      const next = this.#next(end)
      if (!next) throw new Error(`The promise is still pending, and no timer is due within ${limitMs} ms.`)
      await this.#run(next)
    }
    return promise
  }

  async #run(timer: Timer): Promise<void> {
    this.#timers.delete(timer)
    this.#now = timer.at
    timer.callback()
    await this.#settle()
  }

  async #settle(): Promise<void> {
    for (await settle(); this.#work.size > 0; await settle()) await Promise.allSettled(this.#work)
  }

  #next(end: number): Timer | undefined {
    let first: Timer | undefined
    for (const timer of this.#timers) if (timer.at <= end && (!first || timer.at < first.at)) first = timer
    return first
  }
}
