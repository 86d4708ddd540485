import { Deferred } from '../base/deferred.ts'
import type { Clock, Locks } from '../base/environment.ts'
import { markDeleted } from './deleted.ts'
import type { Store } from './store.ts'

/** The maximum time that `destroy` waits for other tabs to close the database, in ms. */
const releaseMs = 1_000

/** The name of the lock that all open connections to the database `name` share. */
export function openLockOf(name: string): string {
  return `${name}~open`
}

/**
 * Returns `store` with a lock that all open connections to one database share. `destroy` rejects if others keep the
 * lock: a connection of a frozen page would block the deletion, and every later opening with it. Without locks, nobody
 * knows, and `destroy` deletes nothing. `destroy` leaves a mark first: see `markDeleted`.
 */
export function withOpenLock(store: Store, locks: Locks | undefined, clock: Clock): Store {
  return {
    kind: store.kind,
    async open(name) {
      const closed = new Deferred<void>()
      const hold = async () => locks?.request(openLockOf(name), { mode: 'shared' }, () => closed.promise)
      hold().catch(() => {})
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
      // A tab that has closed its connection may still seem to hold the lock: the browser processes the release a
      // moment later.
      const waiting = new AbortController()
      const stop = clock.after(releaseMs, () => waiting.abort())
      const { signal } = waiting
      const destroy = async () => {
        await markDeleted(store)
        await store.destroy(name)
      }
      await locks?.request(openLockOf(name), { signal }, destroy).finally(stop)
    },
  }
}
