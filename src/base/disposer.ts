import type { Unsubscribe } from './emitter.ts'

/** Collects clean-up functions. `dispose` runs each of them once, the last one first. */
export class Disposer {
  readonly #cleanUps: Unsubscribe[] = []
  #isDisposed = false

  /** Keeps `cleanUp` for `dispose`. Runs it at once if the disposer is already disposed. */
  add(cleanUp: Unsubscribe): void {
    if (this.#isDisposed) cleanUp()
    else this.#cleanUps.push(cleanUp)
  }

  dispose(): void {
    this.#isDisposed = true
    for (let cleanUp = this.#cleanUps.pop(); cleanUp; cleanUp = this.#cleanUps.pop()) cleanUp()
  }
}
