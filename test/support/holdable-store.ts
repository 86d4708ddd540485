import { Deferred } from '../../src/base/deferred.ts'
import type { Store, StoreTransaction } from '../../src/storage/store.ts'

/**
 * `inner` as a page sees it. While the page is held, none of its code goes on after a read, so that an open transaction
 * stays open and blocks those of other pages, unless it was aborted.
 */
export function holdable(inner: Store) {
  let released: Deferred<void> | undefined
  const whenReleased = async <T>(read: Promise<T>): Promise<T> => {
    const value = await read
    while (released) await released.promise
    return value
  }
  const heldIn = (tx: StoreTransaction): StoreTransaction => ({
    get: (table, key) => whenReleased(tx.get(table, key)),
    keys: (table, range) => whenReleased(tx.keys(table, range)),
    values: (table, range) => whenReleased(tx.values(table, range)),
    put: (table, key, value) => tx.put(table, key, value),
    add: (table, key, value) => tx.add(table, key, value),
    delete: (table, key) => tx.delete(table, key),
  })
  const store: Store = {
    ...inner,
    open: async (name) => {
      const connection = await inner.open(name)
      return {
        ...connection,
        transaction: (options, body) => connection.transaction(options, (tx) => body(heldIn(tx))),
      }
    },
  }
  return {
    store,
    hold: () => {
      released ??= new Deferred()
    },
    release: () => {
      released?.resolve()
      released = undefined
    },
  }
}
