import type { Unsubscribe } from '../base/emitter.ts'
import type { Clock } from '../base/environment.ts'

type Ticking = Omit<Clock, 'pause'>

/** Timers that are counted, and can all be taken back. Some of them may be counted apart, by others over these. */
export class Timers implements Ticking {
  readonly #clock: Ticking
  readonly #armed = new Set<Unsubscribe>()

  constructor(clock: Ticking) {
    this.#clock = clock
  }

  /** How many are armed. */
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
