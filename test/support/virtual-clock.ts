import type { Clock } from '../../src/base/world.ts'

interface Timer {
  readonly at: number
  readonly callback: () => void
}

const anHour = 3_600_000

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
    return turn()
  }

  /** How many timers are armed. */
  get timers(): number {
    return this.#timers.size
  }

  /** Goes on by `ms`, running what falls due on the way, in order, and all that follows from it. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms
    await settle()
    for (let next = this.#next(end); next; next = this.#next(end)) await this.#run(next)
    this.#now = end
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
    for (await settle(); pending; ) {
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
    await settle()
  }

  #next(end: number): Timer | undefined {
    let first: Timer | undefined
    for (const timer of this.#timers) if (timer.at <= end && (!first || timer.at < first.at)) first = timer
    return first
  }
}

/**
 * Lets everything that waits for no timer happen: promise jobs, streams, and whatever takes turns of the event loop
 * by `setImmediate`, as an IndexedDB in memory does. What runs on other threads (zlib, WebCrypto) is not waited for.
 */
export function settle(): Promise<void> {
  // One at a time: each takes turns itself, and two would wait for each other.
  settling ??= quiet().finally(() => {
    settling = undefined
  })
  return settling
}

let settling: Promise<void> | undefined

async function quiet(): Promise<void> {
  for (let turns = 0; turns < 2; ) {
    await turn()
    turns = process.getActiveResourcesInfo().includes('Immediate') ? 0 : turns + 1
  }
}

// Taken here, so that a test's fake timers do not stop it.
const immediately = setImmediate

function turn(): Promise<void> {
  return new Promise((resolve) => {
    immediately(resolve)
  })
}
