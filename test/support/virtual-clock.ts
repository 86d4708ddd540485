import type { Clock } from '../../src/base/world.ts'

interface Timer {
  readonly at: number
  readonly callback: () => void
}

/** A clock that stands still until it is told to go on. Nothing waits for real time. */
export class VirtualClock implements Clock {
  #now: number
  readonly #timers = new Set<Timer>()

  constructor(now = Date.UTC(2026, 0, 1)) {
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
    return Promise.resolve()
  }

  /** How many timers are armed. */
  get timers(): number {
    return this.#timers.size
  }

  /** Goes on by `ms`, running what falls due on the way, in order, and all that follows from it. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms
    await settle()
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.#timers.delete(next)
      this.#now = next.at
      next.callback()
      await settle()
    }
    this.#now = end
  }

  #next(end: number): Timer | undefined {
    let first: Timer | undefined
    for (const timer of this.#timers) if (timer.at <= end && (!first || timer.at < first.at)) first = timer
    return first
  }
}

/** Lets everything that waits for no timer happen: promise jobs, and the turns of streams. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
