import { expect } from 'vitest'
import { type LiveQuery, type Store, SyncClient } from '../../../src/index.ts'
import { ClosableStore } from '../../support/closable-store.ts'
import { baseUrl } from '../../support/device.ts'
import { slowStore } from '../../support/slow-store.ts'
import { FaultyStore } from '../../support/store-faults.ts'
import { type VirtualEnvironment, virtualEnvironment } from '../../support/virtual-environment.ts'
import { VirtualNetwork } from '../../support/virtual-network.ts'
import type { SimulatedDevice } from './device.ts'
import type { Shown, Simulation } from './simulation.ts'

export const types = ['Issue', 'Project'] as const

/** One life of a client, and what an application makes of all that it tells. */
export class Process {
  readonly client: SyncClient
  readonly network: VirtualNetwork
  readonly environment: VirtualEnvironment
  readonly store: FaultyStore
  readonly engine: ClosableStore
  dead = false
  readonly #queries: readonly LiveQuery[]
  /** What the `change` events say. */
  readonly #mirror = new Map<string, unknown>()
  /** A snapshot that reaches as far as its rows may reach less far than what was pushed before. */
  readonly #maySetBack: boolean
  #lastSyncId = 0
  /** What may not happen, and did. */
  readonly #faults: string[] = []

  constructor(simulation: Simulation, device: SimulatedDevice, disk: Store) {
    const { clock, mount, options } = simulation
    this.network = new VirtualNetwork({ clock, server: mount })
    this.network.chunkMs = options.chunkMs
    this.#maySetBack = options.snapshotTo === 'rows'
    this.environment = {
      ...virtualEnvironment({ seed: simulation.next(), clock, network: this.network }),
      ...(options.sockets ? undefined : { WebSocket: undefined }),
    }
    this.store = new FaultyStore(slowStore(disk, clock, simulation.next() % 3 === 0 ? 40 : 0))
    this.engine = new ClosableStore(this.store.store)
    this.client = new SyncClient({
      baseUrl,
      token: () => device.token,
      onUnauthenticated: () => device.onUnauthenticated(),
      identity: 'ada',
      store: this.engine.store,
      environment: this.environment,
      logger: { debug() {}, info() {}, warn() {}, error: (message) => this.#faults.push(message) },
    })
    this.#queries = types.map((t) => this.client.query(t, { orderBy: 'n' }))
    for (const query of this.#queries) query.subscribe(() => {})
    this.#listen()
    void this.store.crashed.then(() => this.die())
  }

  get shown(): Shown {
    return byKey(types.map((t) => [t, this.client.all(t)]))
  }

  /** What holds at every moment. */
  check(): void {
    const { lastSyncId } = this.client
    const seen = {
      faults: this.#faults,
      changed: Object.fromEntries(this.#mirror),
      queried: byKey(this.#queries.map(({ rows }, index) => [types[index] ?? '', rows])),
      wentBack: lastSyncId < this.#lastSyncId && !this.#maySetBack,
    }
    expect(seen).toEqual({ faults: [], changed: this.shown, queried: this.shown, wentBack: false })
    this.#lastSyncId = lastSyncId
  }

  /** Ends in the middle of whatever it does. */
  die(): void {
    if (this.dead) return
    this.dead = true
    this.network.cut()
    this.store.crash()
    void this.client.close()
  }

  checkGone(): void {
    const { network, environment } = this
    expect([network.calls, network.sockets, environment.lifecycle.listeners]).toEqual([0, 0, 0])
  }

  #listen(): void {
    this.client.on('anomaly', ({ message }) => this.#faults.push(message))
    this.client.on('change', (event) => {
      if (event.kind === 'snapshot') {
        this.#mirror.clear()
        for (const [key, record] of Object.entries(this.shown)) this.#mirror.set(key, record)
        return
      }
      for (const { type: t, id, before, after } of event.changes) {
        const key = `${t} ${id}`
        if (before !== this.#mirror.get(key)) this.#faults.push(`${key} was another before`)
        if (after) this.#mirror.set(key, after)
        else this.#mirror.delete(key)
      }
    })
  }
}

function byKey(
  byType: readonly (readonly [t: string, records: readonly { readonly id: string }[]])[],
): Shown {
  return Object.fromEntries(
    byType.flatMap(([t, records]) => records.map((record) => [`${t} ${record.id}`, record])),
  )
}
