import type { Clock, Environment, Lifecycle, LifecycleEvent } from '../base/environment.ts'
import { VirtualChannels } from './virtual-channels.ts'
import type { VirtualClock } from './virtual-clock.ts'
import { VirtualLocks } from './virtual-locks.ts'
import type { VirtualNetwork } from './virtual-network.ts'
import { seededRandom } from './virtual-random.ts'
import { VirtualLocalStorage, VirtualStorageManager } from './virtual-storage.ts'

export interface VirtualEnvironment<C extends Clock = VirtualClock> extends Environment {
  readonly clock: C
  readonly lifecycle: VirtualLifecycle
  readonly storageManager: VirtualStorageManager
  readonly localStorage: VirtualLocalStorage
}

export interface VirtualWorldOptions<C extends Clock = VirtualClock> {
  readonly seed: number
  readonly clock: C
  /** The device's network to the server. */
  readonly network: VirtualNetwork
  /** Whether the WebSocket sends headers, as in Node. @default false */
  readonly sendsHeaders?: boolean
}

/** The environment of one client. Everything but the clock is virtual, and depends on the seed only. */
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
    locks: new VirtualLocks().page(),
    BroadcastChannel: new VirtualChannels().page(),
    storageManager: new VirtualStorageManager(),
    localStorage: new VirtualLocalStorage(),
    location: undefined,
  }
}

/** The online and visible state of a page, as set by a test. Setting it does not change the network. */
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
    // A function of its own for each call, so that the same listener can subscribe twice.
    const entry = (event: LifecycleEvent) => listener(event)
    this.#listeners.add(entry)
    return () => this.#listeners.delete(entry)
  }

  /** The number of listeners. */
  get listeners(): number {
    return this.#listeners.size
  }

  /** Reports that the page goes into the back/forward cache. */
  freeze(): void {
    this.#emit('frozen')
  }

  /** Reports that the page is back from the back/forward cache. */
  resume(): void {
    this.#emit('resumed')
  }

  set({ online = this.#online, visible = this.#visible }: { online?: boolean; visible?: boolean }): void {
    const events: LifecycleEvent[] = []
    if (online !== this.#online) events.push(online ? 'online' : 'offline')
    if (visible !== this.#visible) events.push(visible ? 'visible' : 'hidden')
    this.#online = online
    this.#visible = visible
    for (const event of events) this.#emit(event)
  }

  #emit(event: LifecycleEvent): void {
    for (const listener of [...this.#listeners]) listener(event)
  }
}
