import type { Clock } from '../../src/base/environment.ts'

/** A machine's clock, which somebody sets: what it says jumps, and what was to come after so many ms still does. */
export class JumpingClock implements Clock {
  readonly #clock: Clock
  #ahead = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  now(): number {
    return this.#clock.now() + this.#ahead
  }

  after(ms: number, callback: () => void): () => void {
    return this.#clock.after(ms, callback)
  }

  pause(): Promise<void> {
    return this.#clock.pause()
  }

  /** Sets it forward by `ms`, or back where that is negative. */
  jump(ms: number): void {
    this.#ahead += ms
  }
}
