import { expect, test } from 'vitest'
import { Deferred } from '../../src/base/deferred.ts'
import { StorageError } from '../../src/base/errors.ts'
import type { Found } from '../../src/persistence/connection.ts'
import type { Disk } from '../../src/persistence/disk.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import type { Store, StoreConnection } from '../../src/storage/store.ts'
import { ClosableStore } from '../support/closable-store.ts'
import { diskOn, fullStore } from '../support/test-disk.ts'
import { watching } from '../support/watching-store.ts'

const full = new StorageError('quota', 'Full.')

/** Stores an empty snapshot up to `sid`. */
const store = (disk: Disk, sid: number) => async () => {
  const writer = await disk.data.snapshot()
  await writer.commit({ sid })
  return undefined
}

/** An open disk whose data ends at 0, and whose journal takes nothing while it `is` full. */
async function fullJournal(listener?: Parameters<typeof diskOn>[1]) {
  const is = { full: false }
  const watched = watching(memoryStore(), ({ tables, mode }) => {
    if (is.full && mode === 'write' && tables.includes('journal') && !tables.includes('pages')) throw full
  })
  const { disk, clock } = diskOn(watched, listener)
  await disk.open()
  await disk.replace(disk.term, store(disk, 0))
  return { is, disk, clock }
}

test('invariant 33: a snapshot that was dropped for the outbox does not count as durable', async () => {
  const { store: limited, fill } = fullStore(memoryStore(), full)
  const { disk } = diskOn(limited)
  await disk.open()
  const replaced = await disk.replace(disk.term, async () => {
    await store(disk, 5)()
    fill()
    await disk.outbox.write((write) => write({ put: [] }))
    return undefined
  })
  expect([replaced, disk.failure]).toEqual(['memory', full])
  await expect(disk.stored()).rejects.toBe(full)
  expect(await disk.replace(disk.term, store(disk, 5))).toBe('stored')
  await disk.stored()
})

test('a change that waits for the next snapshot does not count as durable', async () => {
  const { disk } = diskOn(memoryStore())
  await disk.open()
  disk.record({ since: 0, sid: 1, ops: [] })
  await expect(disk.stored()).rejects.toMatchObject({ code: 'aborted' })
})

test('a snapshot that the engine deleted does not count as durable', async () => {
  const engine = new ClosableStore()
  const { disk } = diskOn(engine.store)
  await disk.open()
  const replaced = await disk.replace(disk.term, async () => {
    await store(disk, 5)()
    engine.close('nothing')
    await disk.outbox.write((write) => write({ put: [] }))
    return undefined
  })
  expect([replaced, disk.failure]).toEqual(['again', undefined])
  await expect(disk.stored()).rejects.toMatchObject({ code: 'aborted' })
})

test('closing waits until recorded deltas are stored in the database that is opened again', async () => {
  const engine = new ClosableStore()
  const { disk, clock } = diskOn(engine.store, { attached: async () => void disk.storeWaiting() })
  await disk.open()
  await disk.replace(disk.term, store(disk, 0))
  disk.record({ since: 0, sid: 1, ops: [] })
  engine.close('all')
  await clock.until(disk.seal())
  await clock.until(disk.close())
  const { disk: next } = diskOn(engine.store)
  await next.open()
  expect((await next.data.position())?.sid).toBe(1)
})

test('too many unstored deltas cause a snapshot', async () => {
  let lost = 0
  const { is, disk, clock } = await fullJournal({
    lost: () => {
      lost += 1
    },
  })
  is.full = true
  disk.record({ since: 0, sid: 1, ops: [] })
  await clock.advance(2 * 3_600_000)
  expect([disk.failure, lost]).toEqual([full, 0])
  disk.record({ since: 1, sid: 2, ops: Array(50_001).fill({ op: 'd', t: 'Issue', id: '1' }) })
  await clock.advance(2 * 3_600_000)
  expect(lost).toBe(1)
  await clock.until(disk.close())
})

test('a delta that the disk did not take is stored within a minute, though no other one follows', async () => {
  const { is, disk, clock } = await fullJournal()
  is.full = true
  disk.record({ since: 0, sid: 1, ops: [] })
  await clock.advance(0)
  is.full = false
  await clock.advance(60_000)
  expect(disk.failure).toBeUndefined()
  await clock.until(disk.close())
})

test('a client is told what it finds each time that it attaches', async () => {
  const engine = new ClosableStore()
  const told: Found[] = []
  const { disk } = diskOn(engine.store, { attached: async (found) => void told.push(found) })
  await disk.open()
  engine.close('all')
  await disk.settled()
  engine.close('nothing')
  await disk.settled()
  expect(told).toEqual(['first', 'same', 'wiped'])
})

test('a tab that loses the lead for a moment, while it takes it, stores the data', async () => {
  const compared = new Deferred<void>()
  let isFirst = true
  const { disk, clock } = diskOn(memoryStore(), {
    attached: async () => {
      if (!isFirst) await compared.promise
      isFirst = false
    },
  })
  disk.follow()
  await disk.open()
  disk.lead()
  await clock.advance(0)
  disk.follow()
  disk.lead()
  compared.resolve()
  await clock.advance(0)
  expect(disk.term).toBeGreaterThan(0)
})

/** A memory store whose connections can be lost by number, and what was closed. */
function losable() {
  const inner = memoryStore()
  const losses: ((failure: StorageError) => void)[] = []
  const closed: number[] = []
  const open = async (name: string): Promise<StoreConnection> => {
    const connection = await inner.open(name)
    const n = losses.length
    losses.push(() => {})
    return {
      ...connection,
      close: () => {
        closed.push(n)
        connection.close()
      },
      onLost: (tell) => {
        losses[n] = tell
        return () => {}
      },
    }
  }
  const lose = (n: number) => losses[n]?.(new StorageError('closed', 'Closed.', { retryable: true }))
  const store: Store = { ...inner, open }
  return { store, closed, lose }
}

test('a database that the engine closed is released', async () => {
  const { store, closed, lose } = losable()
  const { disk } = diskOn(store)
  await disk.open()
  lose(0)
  await disk.settled()
  expect(closed).toEqual([0])
  await disk.close()
  expect(closed).toEqual([0, 1])
})

test('a late reason for a closed database does not affect the next one', async () => {
  const { store, closed, lose } = losable()
  const told: unknown[] = []
  const { disk } = diskOn(store, { storage: (failure) => void told.push(failure) })
  await disk.open()
  lose(0)
  await disk.settled()
  lose(0)
  await disk.settled()
  expect(closed).toEqual([0])
  expect(told.at(-1)).toBeUndefined()
})
