import type { StorageError } from '../../src/base/errors.ts'
import { Disk, type DiskListener, type DiskOptions } from '../../src/persistence/disk.ts'
import type { Store } from '../../src/storage/store.ts'
import { VirtualClock } from '../support/virtual.ts'
import { around, writesOutbox } from './watching-store.ts'

/** A disk on `store`. `listener`: what of its events counts. */
export function diskOn(
  store: Store,
  listener: Partial<DiskListener> = {},
  options: Partial<Omit<DiskOptions, 'listener'>> = {},
) {
  const clock = new VirtualClock()
  let lives = 0
  const disk = new Disk({
    store,
    name: 'ada',
    clock,
    models: { version: 1, migrate: {} },
    newLife: () => {
      lives += 1
      return `life ${lives}`
    },
    caller: () => undefined,
    wasDeleted: async () => true,
    ...options,
    listener: {
      opening: async () => {},
      moved() {},
      attached: async () => {},
      roomNeeded: async () => {},
      fenced() {},
      signedOut() {},
      ended() {},
      storeAgain() {},
      lost() {},
      storage() {},
      ...listener,
    },
  })
  return { disk, clock }
}

/** `inner`, without room for the outbox until the data is dropped. */
export function fullStore(inner: Store, full: StorageError): { readonly store: Store; fill: () => void } {
  let isFull = false
  const store = around(inner, async (options, run) => {
    if (isFull && writesOutbox(options) && !options.tables.includes('pages')) throw full
    const result = await run()
    if (options.mode === 'write' && options.tables.includes('pages')) isFull = false
    return result
  })
  return {
    store,
    fill: () => {
      isFull = true
    },
  }
}
