import {
  type Clock,
  memoryStore,
  StorageError,
  type Store,
  type StoreConnection,
  type StoreTransaction,
  type StoreValue,
  type Table,
} from 'instep'
import { Deferred } from '../../src/base/deferred.ts'
import { ClosableStore } from '../support/closable-store.ts'
import { perOrigin } from '../support/per-origin.ts'
import { FaultyStore } from '../support/store-faults.ts'
import type { Standstill } from './standstill.ts'

/** What a store does with writes, while something is wrong with it. */
export const storeTroubles = ['aborts', 'is full', 'is closed', 'hangs'] as const

export type StoreTrouble = (typeof storeTroubles)[number]

/** What the tabs of one device share. */
export class Disk {
  readonly engine = new ClosableStore({ ...memoryStore(), kind: 'durable' })
  trouble: StoreTrouble | undefined
  /** Whether the copy of the data takes all the room that there is: pages have to go before anything is put. */
  isTight = false
  /** So many write transactions are begun before one is refused. `undefined`: none is. */
  beforeRefusal: number | undefined
  /**
   * Whether it can say whose it is: data was stored, or a write of a tab that had data. A write of a tab that has never
   * heard the server is stored with no owner, because that tab knows none.
   */
  hasOwner = false
  /** The databases of the clients that were ever opened. */
  readonly names = new Set<string>()
  /** Called when a write transaction is refused. */
  onRefused = () => {}
  #hasRoom = false
  #silence: { readonly over: Deferred<void>; hasCommitted: boolean } | undefined

  get store(): Store {
    return this.engine.store
  }

  /** Deletes the databases of the clients. */
  async delete(): Promise<void> {
    for (const name of this.names) await this.store.destroy(name)
  }

  /** Whether nothing is answered until `answer` is called. */
  get isSilent(): boolean {
    return this.#silence !== undefined
  }

  /** The next write transaction is still committed. Nothing is answered from then on until `answer` is called. */
  silence(): void {
    this.#silence ??= { over: new Deferred(), hasCommitted: false }
  }

  /** From now on, there is no room beside what is stored. */
  fill(): void {
    this.isTight = true
    this.#hasRoom = false
  }

  heal(): void {
    this.trouble = undefined
    this.isTight = false
    this.beforeRefusal = undefined
    this.answer()
  }

  answer(): void {
    this.#silence?.over.resolve()
    this.#silence = undefined
  }

  /** `connection`, with all that is wrong with the disk. `onCommit` hears of what was stored in the outbox. */
  connect(connection: StoreConnection, onCommit: (values: readonly StoreValue[]) => void): StoreConnection {
    return {
      ...connection,
      transaction: async (options, body) => {
        const isWrite = options.mode === 'write'
        const silence = this.#silence
        if (isWrite && silence?.hasCommitted === false) silence.hasCommitted = true
        else if (silence?.hasCommitted) await silence.over.promise
        if (isWrite) await this.#admit()
        const stored: StoreValue[] = []
        let hasData = false
        const result = await connection.transaction(options, async (tx) => {
          const watched = this.#watched(tx)
          const made = await body(watched.tx)
          if (watched.failure) throw watched.failure
          stored.push(...watched.stored)
          hasData = watched.hasData
          return made
        })
        if (hasData) this.hasOwner = true
        if (stored.length > 0) onCommit(stored)
        if (silence?.hasCommitted) await silence.over.promise
        return result
      },
    }
  }

  /** Throws, or never resolves, where nothing can be written. */
  async #admit(): Promise<void> {
    if (this.beforeRefusal !== undefined) {
      this.beforeRefusal = this.beforeRefusal > 0 ? this.beforeRefusal - 1 : undefined
      if (this.beforeRefusal === undefined) {
        this.onRefused()
        throw new StorageError('aborted', 'Refused, on purpose.')
      }
    }
    if (this.trouble === 'aborts') throw new StorageError('aborted', 'An internal error, on purpose.')
    if (this.trouble === 'is full') throw new StorageError('quota', 'No room, on purpose.')
    if (this.trouble === 'is closed')
      throw new StorageError('closed', 'Closed, on purpose.', { retryable: true })
    if (this.trouble === 'hangs') await never()
  }

  /** `tx`, with what it puts into the outbox, and with its failure where there is no room. */
  #watched(tx: StoreTransaction) {
    const stored: StoreValue[] = []
    const watched = { stored, hasData: false, failure: undefined as StorageError | undefined, tx }
    const put = (table: Table, value: StoreValue, change: () => void) => {
      const isFull = this.isTight && (table === 'pages' || !this.#hasRoom)
      if (isFull) watched.failure ??= new StorageError('quota', 'No room beside the data, on purpose.')
      if (table === 'outbox') stored.push(value)
      watched.hasData ||= table === 'pages'
      if (!isFull) change()
    }
    watched.tx = {
      get: (table, key) => tx.get(table, key),
      keys: (table, range) => tx.keys(table, range),
      values: (table, range) => tx.values(table, range),
      put: (table, key, value) => put(table, value, () => tx.put(table, key, value)),
      add: (table, key, value) => put(table, value, () => tx.add(table, key, value)),
      delete: (table, key) => {
        if (table === 'pages') this.#hasRoom = true
        tx.delete(table, key)
      },
    }
    return watched
  }
}

export interface StoreOfTab {
  readonly store: Store
  /** Fails one step of it. */
  readonly faulty: FaultyStore
  /** Since when the disk does what the tab asks. `undefined`: it has refused that last, or has not answered in time. */
  readonly fineSince: number | undefined
  /** The process is gone: nothing that it waits for ever comes, and it begins nothing. */
  crash(): void
}

export interface StoreOfTabOptions {
  readonly disk: Disk
  readonly clock: Clock
  readonly standstill: Standstill
  /** What each transaction waits for, before and after, in ms. */
  readonly ms: number
  readonly onFault: (text: string) => void
  /** Hears of what the tab has stored in the outbox, before the tab does. */
  readonly onCommit: (values: readonly StoreValue[]) => void
  /** The disk refuses what the tab asks, or does not answer in time. */
  readonly onRefusal: () => void
}

/** A tab gives up a transaction of the disk after so long, in ms. */
export const answerMs = 15_000

/** A tab that begins more transactions at one moment, while no time goes by, would begin them for ever. */
const maxAtOnce = 500

/** The way of one tab to the disk. */
export function storeOfTab({
  disk,
  clock,
  standstill,
  ms,
  onFault,
  onCommit,
  onRefusal,
}: StoreOfTabOptions): StoreOfTab {
  let isGone = false
  let fineSince: number | undefined = clock.now()
  let [at, count] = [0, 0]
  const begin = async () => {
    count = at === clock.now() ? count + 1 : 1
    at = clock.now()
    if (count === maxAtOnce) onFault('a tab asks its store over and over')
    if (count >= maxAtOnce) await never()
  }
  const wait = async () => {
    if (ms > 0) await new Promise<void>((resolve) => void clock.after(ms, resolve))
    if (isGone) await never()
  }
  const connected = (connection: StoreConnection): StoreConnection => ({
    ...connection,
    async transaction(options, body) {
      await begin()
      await wait()
      try {
        return await connection.transaction(options, body)
      } finally {
        await wait()
      }
    },
  })
  const faulty = new FaultyStore({
    kind: 'durable',
    shared: perOrigin,
    async open(name) {
      if (isGone) await never()
      if (name.startsWith('instep:')) disk.names.add(name)
      return standstill.store(connected(disk.connect(await disk.store.open(name), onCommit)))
    },
    destroy: (name) => disk.store.destroy(name),
  })
  const refuse = () => {
    fineSince = undefined
    onRefusal()
  }
  const watched = (connection: StoreConnection): StoreConnection => ({
    ...connection,
    transaction(options, body) {
      const begunAt = clock.now()
      const stopWaiting = clock.after(answerMs, refuse)
      const made = connection.transaction(options, body)
      const settle = (error?: unknown) => {
        stopWaiting()
        if (!error) fineSince ??= clock.now()
        // A tab that has waited for so long aborts it.
        else if (clock.now() - begunAt >= answerMs || (isRefusal(error) && !options.signal?.aborted)) refuse()
      }
      made.then(() => settle(), settle)
      return made
    },
  })
  return {
    store: { ...faulty.store, open: async (name) => watched(await faulty.store.open(name)) },
    faulty,
    get fineSince() {
      return fineSince
    },
    crash() {
      isGone = true
    },
  }
}

const never = () => new Promise<never>(() => {})

/** Whether it is of the disk, and not of a tab that finds that another one was faster, or that the user has signed out. */
function isRefusal(error: unknown): boolean {
  return error instanceof StorageError && !['fenced', 'broken_link', 'signed_out'].includes(error.code)
}
