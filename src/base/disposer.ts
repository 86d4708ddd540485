import type { Unsubscribe } from './emitter.ts'

/** Collects undo functions; `dispose` runs them once, the last added first. */
export class Disposer {
  readonly #undos: Unsubscribe[] = []
  #disposed = false

  /** Keeps `undo` for later. On a disposer that is done, it runs at once. */
  add(undo: Unsubscribe): void {
    if (this.#disposed) undo()
    else this.#undos.push(undo)
  }

  dispose(): void {
    this.#disposed = true
    for (let undo = this.#undos.pop(); undo; undo = this.#undos.pop()) undo()
  }
}
