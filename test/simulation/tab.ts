import type { StoreValue, SyncClient, Transaction } from 'instep'
import type { VirtualChannels } from '../../src/testing/virtual-channels.ts'
import type { VirtualLocks } from '../../src/testing/virtual-locks.ts'
import type { Fault } from '../support/store-faults.ts'
import type { Write } from './acts.ts'
import type { Device } from './device.ts'
import { Mirror } from './mirror.ts'
import { type Row, rowOf } from './server-log.ts'
import { Standstill } from './standstill.ts'
import { type StoreOfTab, storeOfTab } from './stores.ts'
import { Surroundings } from './surroundings.ts'

export const ids = ['a', 'b', 'c'] as const

/** So long may a client take to close, in ms, whatever its disk does. */
const closesWithinMs = 600_000

/** One life of a tab: from its opening to its closing or crash. */
export class Tab {
  /** For a reader: `A`, and after a restart `A2`. */
  readonly name: string
  readonly device: Device
  readonly client: SyncClient
  readonly surroundings: Surroundings
  readonly openedAt: number
  /** How often the user of its device had signed out when it was opened. */
  readonly life: number
  /** When its page last went on after it had stood still. */
  awakeSince = Number.NEGATIVE_INFINITY
  /** When it has seen each write in the data, frame by frame. */
  readonly crossed = new Map<Write, number>()
  /**
   * What the user of this tab wrote, the newest last, and what was undone: for undoing step by step. `isAgain`: it was done
   * again after an undo.
   */
  done: { readonly write: Write; isCertain: boolean; readonly isAgain?: boolean }[] = []
  undone: { readonly write: Write; isCertain: boolean }[] = []
  isOpen = true
  isStopped = false
  isClosing = false
  /** Somebody has deleted its database, so that it stores nothing any more. */
  hasNoDisk = false
  /** Its database was deleted while it was frozen: it may end as after a sign-out. */
  mayEnd = false
  /** Its data was put in place whole since it was last looked at. */
  hadSnapshot = true
  /** Where it was when it was last looked at. */
  last: { readonly history: number | undefined; readonly sid: number } = { history: undefined, sid: 0 }
  /** When its position last changed. */
  movedAt = Number.NEGATIVE_INFINITY
  /** Called when its process was killed, other than by `crash`. */
  onKilled = () => {}
  #diesSoon = false
  readonly #standstill = new Standstill()
  readonly #store: StoreOfTab
  readonly #mirror: Mirror
  readonly #locks: ReturnType<VirtualLocks['page']>
  readonly #channels: ReturnType<VirtualChannels['page']>

  constructor(device: Device, name: string, onFault: (text: string) => void) {
    const { mock, clock, machineClock, plan, identity } = device
    const { fetch, WebSocket } = mock.environment
    this.device = device
    this.name = name
    this.openedAt = clock.now()
    this.life = device.life
    this.surroundings = new Surroundings(mock.environment.lifecycle)
    this.#locks = device.locks.page()
    this.#channels = device.channels.page()
    const standstill = this.#standstill
    this.#store = storeOfTab({
      disk: device.disk,
      clock,
      standstill,
      ms: plan.storeMs,
      onFault,
      onCommit: (values) => this.#committed(values),
      onRefusal: () => device.refused(this),
    })
    void this.#store.faulty.crashed.then(() => this.#kill())
    this.client = mock.client({
      identity,
      token: () => device.token,
      onUnauthenticated: () => device.renewToken(),
      store: this.#store.store,
      pollInterval: 120_000,
      environment: {
        lifecycle: this.surroundings,
        clock: standstill.clock(machineClock),
        fetch: standstill.fetch(fetch),
        locks: plan.hasLocks ? standstill.locks(this.#locks) : undefined,
        BroadcastChannel: plan.channel === 'none' ? undefined : standstill.events(this.#channels),
        WebSocket: plan.hasSockets && WebSocket ? standstill.events(WebSocket) : undefined,
      },
    })
    this.#mirror = new Mirror(this.client, onFault)
    this.client.on('change', ({ kind }) => {
      if (kind === 'snapshot') this.hadSnapshot = true
    })
    this.client.on('anomaly', ({ message }) => {
      if (!device.hasNoise) onFault(`an anomaly: ${message}`)
    })
    void this.client.start().catch(() => {})
  }

  /** The history that its data is of. */
  get history(): number | undefined {
    return rowOf(this.client.get('Meta', 'history'))?.n
  }

  row(id: string): Row {
    return rowOf(this.client.get('Note', id))
  }

  /** The transaction of `write` as this tab has it. */
  find({ tab, transaction }: Write): Transaction | undefined {
    return tab === this ? transaction : this.client.outbox.get(transaction.id)
  }

  /** Looks whether events and queries say the same as the client shows. */
  checkMirror(): void {
    this.#mirror.check()
  }

  /** Since when its disk does what it asks; `undefined` if that is not so. */
  get diskFineSince(): number | undefined {
    return this.#store.fineSince
  }

  /** Whether its disk takes nothing of it at present. */
  get isRefused(): boolean {
    return this.hasNoDisk || this.#store.fineSince === undefined
  }

  failStoreAt(step: number, fault: Fault): void {
    this.#store.faulty.arm(step, fault)
  }

  healStore(): void {
    this.#diesSoon = false
    this.#store.faulty.disarm()
  }

  sync(): void {
    const { client, history, device } = this
    client.sync().then(
      ({ sid }) => {
        const { storage, role } = client.status
        const isStored = storage.kind === 'durable' && role === 'leader' && history === this.history
        if (this.isOpen && isStored && !device.mayLackRoom)
          device.synced = { at: device.clock.now(), history, sid }
      },
      () => {},
    )
  }

  /** Whether its user has signed out, here or in another tab. */
  get hasEnded(): boolean {
    return this.client.status.lifecycle === 'signed-out'
  }

  /** Whether it ended in the middle of whatever it did. */
  get hasCrashed(): boolean {
    return !this.isOpen && !this.isClosing
  }

  /** Whether its page stands still. */
  get isStill(): boolean {
    return this.#standstill.isOn
  }

  /** Its process is killed as soon as the disk has its next write, before it or anybody else hears of that. */
  dieSoon(): void {
    this.#diesSoon = true
  }

  #committed(values: readonly StoreValue[]): void {
    if (this.history !== undefined) this.device.disk.hasOwner = true
    const hasNew = this.device.stored(values)
    if (hasNew && this.#diesSoon) this.#kill()
  }

  #kill(): void {
    this.crash()
    this.onKilled()
  }

  /** Its page stands still, and does not know. */
  halt(): void {
    this.#standstill.begin(false)
  }

  /** It is put away in the middle of its next write to the store. */
  freezeSoon(): void {
    this.#standstill.onWrite = () => this.freeze()
  }

  /** It is put into the back/forward cache, or frozen in the background. */
  freeze(): void {
    this.#standstill.onWrite = undefined
    this.surroundings.set({ visible: false })
    this.surroundings.tell('frozen')
    this.surroundings.isAway = true
    this.#standstill.begin(true)
  }

  /** It runs again, and is looked at. */
  wake(): void {
    this.#standstill.onWrite = undefined
    if (!this.isStill) return
    this.awakeSince = this.device.clock.now()
    this.#standstill.end()
    if (!this.surroundings.isAway) return
    this.surroundings.isAway = false
    this.surroundings.tell('resumed')
    this.surroundings.set({ visible: true })
  }

  show(): void {
    this.wake()
    this.surroundings.set({ visible: false })
    this.surroundings.set({ visible: true })
  }

  async close(): Promise<void> {
    this.wake()
    this.isClosing = true
    await this.device.clock.until(this.client.close(), closesWithinMs)
    this.isOpen = false
  }

  /** Ends in the middle of whatever it does. */
  crash(): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.#store.crash()
    this.#locks.crash()
    this.#channels.crash()
    void this.client.close().catch(() => {})
  }
}
