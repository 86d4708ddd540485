/** Takes back what the call that returned it did. Safe to call again. */
export type Unsubscribe = () => void

export type Listener<T> = (value: T) => void

/** Listeners by event name. One that throws is told to `onError`; the rest still hear. One taken back hears no more. */
export class Emitter<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<Listener<never>>>()
  readonly #onError: (error: unknown) => void

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  on<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): Unsubscribe {
    // Wrapped, so that the same function may be added twice and each undo takes back its own.
    const own: Listener<Events[Name]> = (event) => listener(event)
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners.add(own))
    return () => {
      listeners.delete(own)
    }
  }

  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    const listeners = this.#listeners.get(name) as Set<Listener<Events[Name]>> | undefined
    for (const listener of [...(listeners ?? [])]) {
      if (!listeners?.has(listener)) continue
      try {
        listener(event)
      } catch (error) {
        this.#onError(error)
      }
    }
  }

  /** Whether anybody listens for `name`. */
  has(name: keyof Events): boolean {
    return (this.#listeners.get(name)?.size ?? 0) > 0
  }

  clear(): void {
    for (const listeners of this.#listeners.values()) listeners.clear()
  }
}
