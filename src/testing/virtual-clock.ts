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

/** A clock that stands still until it is told to go on. Nothing waits for real time. */
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

  /** How many timers are armed. */
  get timers(): number {
    return this.#timers.size
  }

  /** Stands still until `work` has settled, however long that takes in real time: a module that is being loaded. */
  during<T>(work: Promise<T>): Promise<T> {
    this.#work.add(work)
    const done = () => void this.#work.delete(work)
    work.then(done, done)
    return work
  }

  /** Goes on by `ms`, running what falls due on the way, in order, and all that follows from it. */
  async advance(ms: number): Promise<void> {
    check('ms', ms, isNumber)
    const end = this.#now + ms
    await this.#settle()
    for (let next = this.#next(end); next; next = this.#next(end)) await this.#run(next)
    // Another call may have gone further meanwhile.
    if (end > this.#now) this.#now = end
  }

  /**
   * Goes on, timer by timer, until `promise` has settled, and gives what it gives. Throws where it is still pending
   * after `limitMs`, or where no timer is left that could settle it.
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
      if (!next) throw new Error(`Still pending, and no timer falls due within ${limitMs} ms.`)
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
