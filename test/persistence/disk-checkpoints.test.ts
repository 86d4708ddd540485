import { expect, test } from 'vitest'
import { Deferred } from '../../src/base/deferred.ts'
import { StorageError } from '../../src/base/errors.ts'
import type { Data } from '../../src/persistence/data.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { diskOn } from '../support/test-disk.ts'

const full = new StorageError('quota', 'Full.')

/** An open disk on which a checkpoint is due after each delta, the checkpoints that were begun, and what it tells. */
async function dueDisk(append: Data['append'] = async () => {}) {
  const checkpoints: Deferred<boolean>[] = []
  const told: unknown[] = []
  const { disk, clock } = diskOn(memoryStore(), { storage: (failure) => void told.push(failure) })
  const checkpoint = () => {
    const begun = new Deferred<boolean>()
    checkpoints.push(begun)
    return begun.promise
  }
  Object.assign(disk.data, { append, checkpoint })
  Object.defineProperty(disk.data, 'size', { value: { pageUnits: 0, journalUnits: 1_000_000 } })
  await disk.open()
  disk.resume()
  /** Takes the delta to `sid`, and waits until a checkpoint would have begun. */
  const taken = async (sid: number) => {
    disk.record({ since: sid - 1, sid, ops: [] })
    await clock.advance(3_000)
  }
  const snapshot = () => disk.replace(disk.term, async () => undefined)
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
