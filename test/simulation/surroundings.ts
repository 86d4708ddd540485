import type { Lifecycle, LifecycleEvent } from 'instep'

/** A tab's own: whether it is looked at, and whether it is put away. The network is the device's. */
export class Surroundings implements Lifecycle {
  readonly #device: Lifecycle
  #isVisible = true
  /** Whether its page was told that it is frozen: it then hears of nothing. */
  isAway = false
  readonly #listeners = new Set<(event: LifecycleEvent) => void>()

  constructor(device: Lifecycle) {
    this.#device = device
  }

  online(): boolean {
    return this.#device.online()
  }

  visible(): boolean {
    return this.#isVisible
  }

  set({ visible }: { readonly visible: boolean }): void {
    this.#isVisible = visible
    this.tell(visible ? 'visible' : 'hidden')
  }

  tell(event: LifecycleEvent): void {
    for (const listener of [...this.#listeners]) listener(event)
  }

  subscribe(listener: (event: LifecycleEvent) => void): () => void {
    const own = (event: LifecycleEvent) => listener(event)
    this.#listeners.add(own)
    const unsubscribe = this.#device.subscribe((event) => {
      if (!this.isAway && (event === 'online' || event === 'offline')) own(event)
    })
    return () => {
      this.#listeners.delete(own)
      unsubscribe()
    }
  }
}
