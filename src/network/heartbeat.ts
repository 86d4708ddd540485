import type { Clock } from '../base/environment.ts'
import { Timer } from '../base/timer.ts'

/** Detects that a peer is silent which has promised regular messages. */
export class Heartbeat {
  readonly #clock: Clock
  readonly #silence: Timer
  #expectedMs = Number.POSITIVE_INFINITY
  #heardAt = 0

  /** `onSilence` is called when no message has come for twice the expected interval. */
  constructor(clock: Clock, onSilence: () => void) {
    this.#clock = clock
    this.#silence = new Timer(clock, onSilence)
  }

  /** Whether a message is overdue. Correct even if timers have stopped, for example while the machine was asleep. */
  get overdue(): boolean {
    return this.#clock.now() - this.#heardAt > this.#expectedMs
  }

  /** Expects a message at least every `ms` from now on. */
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
