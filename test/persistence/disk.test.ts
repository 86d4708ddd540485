import { expect, test } from 'vitest'
import { Deferred } from '../../src/base/deferred.ts'
import { StorageError } from '../../src/base/errors.ts'
import type { Database } from '../../src/persistence/database.ts'
import { Disk, type DiskListener } from '../../src/persistence/disk.ts'
import { noDatabase } from '../../src/persistence/none.ts'
import { openDatabase } from '../../src/persistence/open.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { ClosableStore } from '../support/closable-store.ts'
import { VirtualClock } from '../support/virtual.ts'

const listener: DiskListener = {
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
  storage() {},
}

const full = new StorageError('quota', 'Full.')

/** An open disk that has no room for the outbox until the data is dropped. */
async function fullDisk(): Promise<Disk> {
  let isFull = true
  const database: Database = {
    ...noDatabase,
    outbox: {
      ...noDatabase.outbox,
      write: async () => {
        if (isFull) throw full
        return noDatabase.outbox.write({})
      },
    },
    drop: async () => {
      isFull = false
    },
  }
  const disk = new Disk({
    openDatabase: async () => database,
    clock: new VirtualClock(),
    listener,
  })
  await disk.open()
  return disk
}

test('invariant 33: a snapshot that was dropped for the outbox does not count as durable', async () => {
  const disk = await fullDisk()
  const replaced = await disk.replace(disk.database, async () => {
    await disk.outbox.write({ put: [] })
    return undefined
  })
  expect([replaced, disk.failure]).toEqual(['memory', full])
  await expect(disk.stored()).rejects.toBe(full)
  expect(await disk.replace(disk.database, async () => undefined)).toBe('stored')
  await disk.stored()
})

test('a change that waits for the next snapshot does not count as durable', async () => {
  const disk = await fullDisk()
  disk.record({ since: 0, sid: 1, ops: [] })
  await expect(disk.stored()).rejects.toMatchObject({ code: 'aborted' })
})

test('a snapshot that the engine deleted does not count as durable', async () => {
  const clock = new VirtualClock()
  const engine = new ClosableStore()
  const disk = new Disk({
    openDatabase: () => openDatabase({ store: engine.store, name: 'ada', clock }),
    clock,
    listener,
  })
  await disk.open()
  const { database } = disk
  const replaced = await disk.replace(database, async () => {
    const writer = await database.snapshot()
    await writer.commit({ sid: 5 })
    engine.close('nothing')
    await disk.outbox.write({ put: [] })
    return undefined
  })
  expect([replaced, disk.failure]).toEqual(['again', undefined])
  await expect(disk.stored()).rejects.toMatchObject({ code: 'aborted' })
})

test('closing waits for writes to a reopened database', async () => {
  const clock = new VirtualClock()
  const waited = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve))
  const closed = new StorageError('closed', 'Closed.', { retryable: true })
  const first: Database = { ...noDatabase, append: () => Promise.reject(closed) }
  const second: Database = { ...noDatabase, append: () => waited(1_000).then(() => Promise.reject(full)) }
  let opened = 0
  const told: unknown[] = []
  const disk = new Disk({
    openDatabase: async () => {
      opened += 1
      if (opened === 1) return first
      await waited(100)
      return second
    },
    clock,
    listener: { ...listener, storage: (failure) => void told.push(failure) },
  })
  await disk.open()
  disk.resume()
  disk.record({ since: 0, sid: 1, ops: [] })
  await clock.advance(0)
  await clock.until(disk.close())
  const before = told.length
  await clock.advance(10_000)
  expect([opened, told.length - before, clock.timers]).toEqual([2, 0, 0])
})

test('too many unstored deltas cause a snapshot', async () => {
  const clock = new VirtualClock()
  const database: Database = { ...noDatabase, append: () => Promise.reject(full) }
  let lost = 0
  const disk = new Disk({
    openDatabase: async () => database,
    clock,
    listener: {
      ...listener,
      lost: () => {
        lost += 1
      },
    },
  })
  await disk.open()
  disk.resume()
  disk.record({ since: 0, sid: 1, ops: [] })
  await clock.advance(2 * 3_600_000)
  expect([disk.failure, lost]).toEqual([full, 0])
  disk.record({ since: 1, sid: 2, ops: Array(50_001).fill({ op: 'd', t: 'Issue', id: '1' }) })
  await clock.advance(2 * 3_600_000)
  expect(lost).toBe(1)
  await clock.until(disk.close())
})

test('a delta that the disk did not take is stored within a minute, though no other one follows', async () => {
  const clock = new VirtualClock()
  let isFull = true
  const database: Database = {
    ...noDatabase,
    append: () => (isFull ? Promise.reject(full) : Promise.resolve()),
  }
  const disk = new Disk({ openDatabase: async () => database, clock, listener })
  await disk.open()
  disk.resume()
  disk.record({ since: 0, sid: 1, ops: [] })
  await clock.advance(0)
  isFull = false
  await clock.advance(60_000)
  expect(disk.failure).toBeUndefined()
  await clock.until(disk.close())
})

test('the stored data is read once, even if the database is reopened', async () => {
  const clock = new VirtualClock()
  const engine = new ClosableStore()
  const told: string[] = []
  const disk = new Disk({
    openDatabase: () => openDatabase({ store: engine.store, name: 'ada', clock }),
    clock,
    listener: {
      ...listener,
      opened: async () => void told.push('opened'),
      reopened: () => told.push('reopened'),
    },
  })
  await disk.open()
  engine.close('nothing')
  await disk.outbox.write({ put: [] })
  expect(told).toEqual(['opened', 'reopened'])
})

test('transactions are stored again after the browser has closed the database while a tab takes the lead', async () => {
  const clock = new VirtualClock()
  const engine = new ClosableStore()
  const told: string[] = []
  const disk = new Disk({
    openDatabase: () => openDatabase({ store: engine.store, name: 'ada', clock }),
    clock,
    listener: { ...listener, reopened: () => told.push('reopened') },
  })
  await disk.open()
  disk.follow()
  engine.refusals = 1
  disk.lead()
  await clock.until(disk.ready())
  expect(told).toEqual(['reopened'])
})

test('a tab that loses the lead for a moment, while it takes it, stores the data', async () => {
  const clock = new VirtualClock()
  const compared = new Deferred<void>()
  const disk = new Disk({
    openDatabase: (leads) => openDatabase({ store: memoryStore(), name: 'ada', clock, leads }),
    clock,
    listener: { ...listener, leads: () => compared.promise },
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

test('a database that the engine closed is released once another is open', async () => {
  const closed: string[] = []
  const named = (name: string): Database => ({ ...noDatabase, close: () => void closed.push(name) })
  const databases = [named('first'), named('second')]
  let lose = () => {}
  const disk = new Disk({
    openDatabase: async () => {
      const database = databases.shift() ?? noDatabase
      const onLost: Database['onLost'] = (told) => {
        lose = () => told(new StorageError('closed', 'Closed.', { retryable: true }))
        return () => {}
      }
      return { ...database, onLost }
    },
    clock: new VirtualClock(),
    listener,
  })
  await disk.open()
  lose()
  await disk.settled()
  expect(closed).toEqual(['first'])
  await disk.close()
  expect(closed).toEqual(['first', 'second'])
})

test('a late reason for a closed database does not affect the next one', async () => {
  const closed = new StorageError('closed', 'Closed.', { retryable: true })
  const losses: (() => void)[] = []
  const told: unknown[] = []
  const disk = new Disk({
    openDatabase: async () => {
      const isFirst = losses.length === 0
      const write = async () => {
        if (isFirst) throw closed
        return noDatabase.outbox.write({})
      }
      const onLost: Database['onLost'] = (tell) => {
        losses.push(() => tell(closed))
        return () => {}
      }
      return { ...noDatabase, outbox: { ...noDatabase.outbox, write }, onLost }
    },
    clock: new VirtualClock(),
    listener: { ...listener, storage: (failure) => void told.push(failure) },
  })
  await disk.open()
  await disk.outbox.write({ put: [] })
  expect(losses).toHaveLength(2)
  losses[0]?.()
  await disk.replace(disk.database, async () => undefined)
  expect(told.at(-1)).toBeUndefined()
})
