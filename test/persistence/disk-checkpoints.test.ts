import { expect, test } from 'vitest'
import { Deferred } from '../../src/base/deferred.ts'
import { StorageError } from '../../src/base/errors.ts'
import type { Database } from '../../src/persistence/database.ts'
import { Disk } from '../../src/persistence/disk.ts'
import { noDatabase } from '../../src/persistence/none.ts'
import { VirtualClock } from '../support/virtual.ts'

const full = new StorageError('quota', 'Full.')

/** An open disk on which a checkpoint is due after each delta, the checkpoints that were begun, and what it tells. */
async function dueDisk(append: Database['append'] = async () => {}) {
  const clock = new VirtualClock()
  const checkpoints: Deferred<boolean>[] = []
  const told: unknown[] = []
  const database: Database = {
    ...noDatabase,
    size: { pageUnits: 0, journalUnits: 1_000_000 },
    append,
    checkpoint: () => {
      const checkpoint = new Deferred<boolean>()
      checkpoints.push(checkpoint)
      return checkpoint.promise
    },
  }
  const disk = new Disk({
    openDatabase: async () => database,
    clock,
    listener: {
      opening: async () => {},
      opened: async () => {},
      leads: async () => {},
      roomNeeded: async () => {},
      fenced() {},
      signedOut() {},
      reopened() {},
      ended() {},
      storeAgain() {},
      lost() {},
      storage: (failure) => void told.push(failure),
    },
  })
  await disk.open()
  disk.resume()
  /** Takes the delta to `sid`, and waits until a checkpoint would have begun. */
  const taken = async (sid: number) => {
    disk.record({ since: sid - 1, sid, ops: [] })
    await clock.advance(3_000)
  }
  const snapshot = () => disk.replace(database, async () => undefined)
  return { clock, checkpoints, told, disk, taken, snapshot }
}

test('a planned checkpoint does not run once the disk is closed', async () => {
  const { clock, checkpoints, disk } = await dueDisk()
  disk.record({ since: 0, sid: 1, ops: [] })
  await disk.close()
  expect(clock.timers).toBe(0)
  await clock.advance(10_000)
  expect(checkpoints).toEqual([])
})

test('the reason of a failed checkpoint is reported until one succeeds, even if a delta fails meanwhile', async () => {
  const slow = new StorageError('timeout', 'Slow.')
  let tries = 0
  const { clock, checkpoints, told, disk, taken } = await dueDisk(async ({ sid }) => {
    if (sid === 2 && tries++ === 0) throw slow
  })
  await taken(1)
  checkpoints[0]?.reject(full)
  await clock.advance(0)
  await taken(2)
  expect(told.at(-1)).toBe(slow)
  await taken(3)
  expect(told.at(-1)).toBe(full)
  checkpoints[1]?.resolve(true)
  await clock.advance(0)
  expect(told.at(-1)).toBeUndefined()
  await disk.close()
})

test('after a snapshot a checkpoint is made again when it is due, one at a time', async () => {
  const { clock, checkpoints, disk, taken, snapshot } = await dueDisk()
  disk.record({ since: 0, sid: 1, ops: [] })
  await snapshot()
  await taken(2)
  expect(checkpoints).toHaveLength(1)
  await snapshot()
  await taken(3)
  expect(checkpoints).toHaveLength(2)
  // Only now has the one ended that the snapshot before it took the place of.
  checkpoints[0]?.resolve(false)
  await clock.advance(0)
  await taken(4)
  expect(checkpoints).toHaveLength(2)
  checkpoints[1]?.resolve(false)
  await clock.advance(0)
  await taken(5)
  expect(checkpoints).toHaveLength(3)
  await disk.close()
})
