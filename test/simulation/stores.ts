import { type Clock, memoryStore, StorageError, type Store, type StoreConnection } from 'instep'
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

  get store(): Store {
    return this.engine.store
  }

  /** Throws, or never resolves, where nothing can be written. */
  async admit(): Promise<void> {
    if (this.trouble === 'aborts') throw new StorageError('aborted', 'An internal error, on purpose.')
    if (this.trouble === 'is full') throw new StorageError('quota', 'No room, on purpose.')
    if (this.trouble === 'is closed')
      throw new StorageError('closed', 'Closed, on purpose.', { retryable: true })
    if (this.trouble === 'hangs') await never()
  }
}

export interface StoreOfTab {
  readonly store: Store
  /** Fails one step of it. */
  readonly faulty: FaultyStore
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
}

/** A tab that begins more transactions at one moment, while no time goes by, would begin them for ever. */
const maxAtOnce = 500

/** The way of one tab to the disk. */
export function storeOfTab({ disk, clock, standstill, ms, onFault }: StoreOfTabOptions): StoreOfTab {
  let isGone = false
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
      if (options.mode === 'write') await disk.admit()
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
      return standstill.store(connected(await disk.store.open(name)))
    },
    destroy: (name) => disk.store.destroy(name),
  })
  return {
    store: faulty.store,
    faulty,
    crash() {
      isGone = true
    },
  }
}

const never = () => new Promise<never>(() => {})
