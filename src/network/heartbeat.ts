import type { Clock } from '../base/environment.ts'
import { Timer } from '../base/timer.ts'

/** Notices the silence of a peer that has promised to say something now and then. */
export class Heartbeat {
  readonly #clock: Clock
  readonly #silence: Timer
  #expectedMs = Number.POSITIVE_INFINITY
  #heardAt = 0

  /** `onSilence` is called once nothing was heard for twice the time that is expected. */
  constructor(clock: Clock, onSilence: () => void) {
    this.#clock = clock
    this.#silence = new Timer(clock, onSilence)
  }

  /** Whether something should have come by now. Holds where timers stood still, in a sleeping machine for example. */
  get overdue(): boolean {
    return this.#clock.now() - this.#heardAt > this.#expectedMs
  }

  /** From now on no silence longer than `ms` is expected. */
  expect(ms: number): void {
    this.#expectedMs = ms
    this.heard()
  }

  heard(): void {
    this.#heardAt = this.#clock.now()
    if (this.#expectedMs < Number.POSITIVE_INFINITY) this.#silence.set(2 * this.#expectedMs)
  }

  stop(): void {
    this.#silence.clear()
  }
}
