import { Deferred } from '../base/deferred.ts'
import type { Locks } from '../base/environment.ts'
import type { Store } from './store.ts'

/**
 * Returns `store` with a lock that all open connections to one database share. `destroy` deletes nothing while there
 * are any, or without locks: a connection of a frozen page would block the deletion, and every later opening with it.
 */
export function withOpenLock(store: Store, locks: Locks | undefined): Store {
  const lockOf = (name: string) => `${name}~open`
  return {
    kind: store.kind,
    async open(name) {
      const closed = new Deferred<void>()
      locks?.request(lockOf(name), { mode: 'shared' }, () => closed.promise).catch(() => {})
      try {
        const connection = await store.open(name)
        const close = () => {
          connection.close()
          closed.resolve()
        }
        return { ...connection, close }
      } catch (error) {
        closed.resolve()
        throw error
      }
    },
    async destroy(name) {
      await locks?.request(lockOf(name), { ifAvailable: true }, async (lock) => {
        if (lock) await store.destroy(name)
      })
    },
  }
}
