import { VirtualClock } from './virtual-clock.ts'

/** A clock on which each look at it takes `cost` ms, and which counts the turns that others get. */
export class SlowClock extends VirtualClock {
  turns = 0
  readonly #cost: number
  #passed = 0

  constructor(cost: number) {
    super()
    this.#cost = cost
  }

  override now(): number {
    this.#passed += this.#cost
    return super.now() + this.#passed
  }

  override pause(): Promise<void> {
    this.turns += 1
    return super.pause()
  }
}
