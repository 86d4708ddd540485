import type { Unsubscribe } from '../base/emitter.ts'
import type { StorageError } from '../base/errors.ts'

/** Calls its listeners once, with the reason why the browser or the store closed a connection. */
export class ConnectionLost {
  readonly #listeners = new Set<(failure: StorageError) => void>()
  #hasFired = false

  on(listener: (failure: StorageError) => void): Unsubscribe {
    const uniqueListener = (failure: StorageError) => listener(failure)
    this.#listeners.add(uniqueListener)
    return () => {
      this.#listeners.delete(uniqueListener)
    }
  }

  tell(failure: StorageError): void {
    if (this.#hasFired) return
    this.#hasFired = true
    for (const listener of [...this.#listeners]) listener(failure)
  }
}
