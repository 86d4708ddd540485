import type { Clock, Environment, Lifecycle, LifecycleEvent } from '../base/environment.ts'
import type { VirtualClock } from './virtual-clock.ts'
import type { VirtualNetwork } from './virtual-network.ts'
import { seededRandom } from './virtual-random.ts'

export interface VirtualEnvironment<C extends Clock = VirtualClock> extends Environment {
  readonly clock: C
  readonly lifecycle: VirtualLifecycle
}

export interface VirtualWorldOptions<C extends Clock = VirtualClock> {
  readonly seed: number
  readonly clock: C
  /** This device's way to the server. */
  readonly network: VirtualNetwork
  /** Whether its WebSocket sends headers, as that of Node does. @default false */
  readonly sendsHeaders?: boolean
}

/** Everything that one client takes from outside itself: all but the clock is virtual, and a seed says all of it. */
export function virtualEnvironment<C extends Clock>({
  seed,
  clock,
  network,
  sendsHeaders = false,
}: VirtualWorldOptions<C>): VirtualEnvironment<C> {
  return {
    fetch: network.fetch,
    WebSocket: network.webSocket({ sendsHeaders }),
    clock,
    random: seededRandom(seed),
    lifecycle: new VirtualLifecycle(),
    location: undefined,
  }
}

/** Surroundings that say what a test lets them say. They do nothing to the network. */
export class VirtualLifecycle implements Lifecycle {
  #online = true
  #visible = true
  readonly #listeners = new Set<(event: LifecycleEvent) => void>()

  online(): boolean {
    return this.#online
  }

  visible(): boolean {
    return this.#visible
  }

  subscribe(listener: (event: LifecycleEvent) => void): () => void {
    const own = (event: LifecycleEvent) => listener(event)
    this.#listeners.add(own)
    return () => this.#listeners.delete(own)
  }

  /** How many listen. */
  get listeners(): number {
    return this.#listeners.size
  }

  set({ online = this.#online, visible = this.#visible }: { online?: boolean; visible?: boolean }): void {
    const events: LifecycleEvent[] = []
    if (online !== this.#online) events.push(online ? 'online' : 'offline')
    if (visible !== this.#visible) events.push(visible ? 'visible' : 'hidden')
    this.#online = online
    this.#visible = visible
    for (const event of events) for (const listener of [...this.#listeners]) listener(event)
  }
}
