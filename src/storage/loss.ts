import type { Undo } from '../base/emitter.ts'

/** Tells once that the engine closed a connection by itself. */
export class Loss {
  readonly #listeners = new Set<() => void>()
  #told = false

  get told(): boolean {
    return this.#told
  }

  on(listener: () => void): Undo {
    const own = () => listener()
    this.#listeners.add(own)
    return () => {
      this.#listeners.delete(own)
    }
  }

  tell(): void {
    if (this.#told) return
    this.#told = true
    for (const listener of [...this.#listeners]) listener()
  }
}
