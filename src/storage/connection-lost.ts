import type { Unsubscribe } from '../base/emitter.ts'
import type { StorageError } from '../base/errors.ts'

/** Tells once why the engine closed a connection by itself. */
export class ConnectionLost {
  readonly #listeners = new Set<(failure: StorageError) => void>()
  #told = false

  on(listener: (failure: StorageError) => void): Unsubscribe {
    const own = (failure: StorageError) => listener(failure)
    this.#listeners.add(own)
    return () => {
      this.#listeners.delete(own)
    }
  }

  tell(failure: StorageError): void {
    if (this.#told) return
    this.#told = true
    for (const listener of [...this.#listeners]) listener(failure)
  }
}
