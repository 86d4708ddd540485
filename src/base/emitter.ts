/** Removes the listener, or cancels the timer, of the call that returned it. Further calls do nothing. */
export type Unsubscribe = () => void

export type Listener<T> = (value: T) => void

/**
 * Calls listeners by event name. If a listener throws, `onError` is called, and the other listeners are still called. A
 * removed listener is not called again, not even by an event that is being emitted.
 */
export class Emitter<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<Listener<never>>>()
  readonly #onError: (error: unknown) => void

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  on<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): Unsubscribe {
    // Wrapped, so that the same function can be added twice and removed once.
    const wrapped: Listener<Events[Name]> = (event) => listener(event)
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners.add(wrapped))
    return () => {
      listeners.delete(wrapped)
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

  /** Whether there is a listener for `name`. */
  has(name: keyof Events): boolean {
    return (this.#listeners.get(name)?.size ?? 0) > 0
  }

  clear(): void {
    for (const listeners of this.#listeners.values()) listeners.clear()
  }
}
