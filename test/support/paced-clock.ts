import { VirtualClock } from './virtual.ts'

/** A clock on which each look at it takes `cost` ms, and which counts the turns that others get. */
export class PacedClock extends VirtualClock {
  turns = 0
  readonly #cost: number
  #passed = 0

  constructor(cost = 0) {
    super()
    this.#cost = cost
  }

  override now(): number {
    this.#passed += this.#cost
    return super.now() + this.#passed
  }

  /** Lets `ms` go by, in which nothing is due. */
  pass(ms: number): void {
    this.#passed += ms
  }

  override pause(): Promise<void> {
    this.turns += 1
    return super.pause()
  }
}
