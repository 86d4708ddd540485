import type { Unsubscribe } from '../base/emitter.ts'
import type { Clock } from '../base/environment.ts'

type Ticking = Omit<Clock, 'pause'>

/** Counts its timers, and can cancel all of them. `clock` may be another `Timers`, which then counts them as well. */
export class Timers implements Ticking {
  readonly #clock: Ticking
  readonly #armed = new Set<Unsubscribe>()

  constructor(clock: Ticking) {
    this.#clock = clock
  }

  /** The number of timers that have not fired. */
  get size(): number {
    return this.#armed.size
  }

  now(): number {
    return this.#clock.now()
  }

  after(ms: number, callback: () => void): Unsubscribe {
    const undo = () => {
      this.#armed.delete(undo)
      cancel()
    }
    const cancel = this.#clock.after(ms, () => {
      this.#armed.delete(undo)
      callback()
    })
    this.#armed.add(undo)
    return undo
  }

  clear(): void {
    for (const undo of [...this.#armed]) undo()
  }
}
