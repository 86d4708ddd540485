import { expect, test } from 'vitest'
import { withTimeLimits } from '../../src/storage/deadline.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { type Database, openDatabase } from '../support/database.ts'
import { name, open } from '../support/store-databases.ts'
import { FaultyStore } from '../support/store-faults.ts'
import { restoreState, rowsNamed, snapshotOf, storeSnapshot } from '../support/store-state.ts'
import { VirtualClock } from '../support/virtual.ts'

const limits = { openMs: 1_000, transactionMs: 1_000 }
const first = snapshotOf(10, rowsNamed('a', 'b', 'c'))
const delta = { since: 10, sid: 11, ops: [{ op: 'd', t: 'Issue', id: 'a' }] } as const

const calls: { readonly [what: string]: (database: Database) => Promise<unknown> } = {
  restore: restoreState,
  append: (database) => database.append({ since: 11, sid: 12, ops: [] }),
  snapshot: (database) => storeSnapshot(database, snapshotOf(20, rowsNamed('d', 'e', 'f'))),
  checkpoint: (database) => database.checkpoint(),
}

test.each(Object.entries(calls))(
  'invariant 30: %s settles in bounded time, whatever step of the store hangs, and the next try succeeds',
  async (what, call) => {
    for (let at = 0; ; at += 1) {
      const memory = memoryStore()
      const before = await open(memory)
      await storeSnapshot(before, first)
      await before.append(delta)
      const faulty = new FaultyStore(memory)
      const clock = new VirtualClock()
      const store = withTimeLimits(faulty.store, clock, limits)
      faulty.arm(at, 'hang')
      const whole = openDatabase({ store, name, clock }).then(call)
      const settled = whole.then(
        () => undefined,
        (error) => error,
      )
      const error = await clock.until(settled, 5_000)
      if (!faulty.struck) break
      expect(error, `step ${at} of ${what}`).toMatchObject({ name: 'StorageError' })
      expect(['timeout', 'blocked']).toContain(error.code)
      expect(clock.timers).toBe(0)
      const again = await open(memory)
      await restoreState(again)
      // Told to be late, it may have been done all the same.
      const { sid = 0 } = (await restoreState(again)) ?? {}
      await again.append({ since: sid, sid: sid + 1, ops: [] })
    }
  },
)
