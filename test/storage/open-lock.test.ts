import { beforeEach, expect, test } from 'vitest'
import { Deferred } from '../../src/base/deferred.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { withOpenLock } from '../../src/storage/open-lock.ts'
import type { Store } from '../../src/storage/store.ts'
import { VirtualLocks } from '../../src/testing/virtual-locks.ts'
import { VirtualClock } from '../support/virtual.ts'

let clock: VirtualClock
let store: Store
/** Lets go of the lock, which another tab seems to hold. */
let release: () => void

beforeEach(async () => {
  clock = new VirtualClock()
  const locks = new VirtualLocks().page()
  const memory = memoryStore()
  store = withOpenLock(memory, locks, clock)
  const connection = await store.open('db')
  await connection.transaction({ tables: ['meta'], mode: 'write' }, async (tx) => tx.put('meta', 'key', 1))
  connection.close()
  const held = new Deferred<void>()
  void locks.request('db~open', { mode: 'shared' }, () => held.promise)
  release = () => held.resolve()
})

/** What the database holds. */
async function stored(): Promise<readonly unknown[]> {
  const connection = await store.open('db')
  return connection.transaction({ tables: ['meta'], mode: 'read' }, (tx) => tx.values('meta'))
}

test('a database is deleted once the browser has heard that the other tabs have closed it', async () => {
  const destroyed = store.destroy('db')
  await clock.advance(900)
  release()
  await destroyed
  expect(await stored()).toEqual([])
  expect(clock.timers).toBe(0)
})

test('a database that another tab keeps open is not deleted, and nobody waits for it more than a second', async () => {
  const refused = expect(store.destroy('db')).rejects.toThrow()
  await clock.advance(1_000)
  await refused
  release()
  expect(await stored()).toEqual([1])
})
