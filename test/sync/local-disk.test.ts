import { expect, test } from 'vitest'
import { StorageError } from '../../src/base/errors.ts'
import type { Database } from '../../src/database/database.ts'
import { noDatabase } from '../../src/database/none.ts'
import { openDatabase } from '../../src/database/open.ts'
import { type DiskListener, LocalDisk } from '../../src/sync/local-disk.ts'
import { ClosableStore } from '../support/closable-store.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

const listener: DiskListener = { opened: async () => {}, reopened() {}, lost() {}, storage() {} }

const full = new StorageError('quota', 'Full.')

/** An open disk that has no room for the outbox until the data is dropped. */
async function fullDisk(): Promise<LocalDisk> {
  let isFull = true
  const database: Database = {
    ...noDatabase,
    outbox: {
      ...noDatabase.outbox,
      write: async () => {
        if (isFull) throw full
        return []
      },
    },
    drop: async () => {
      isFull = false
    },
  }
  const disk = new LocalDisk({
    openDatabase: async () => database,
    clock: new VirtualClock(),
    listener,
  })
  await disk.open()
  return disk
}

test('invariant 33: a snapshot that is given up for the outbox before it is shown is not called durable', async () => {
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

test('what is taken while nothing is stored until a snapshot is not durable', async () => {
  const disk = await fullDisk()
  disk.record({ since: 0, sid: 1, ops: [] })
  await expect(disk.stored()).rejects.toMatchObject({ code: 'aborted' })
})

test('a snapshot is not called durable that the engine took away, with the database opened again, before it is shown', async () => {
  const clock = new VirtualClock()
  const engine = new ClosableStore()
  const disk = new LocalDisk({
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

test('a checkpoint that ends after the disk was closed leaves no timer, whatever failed before', async () => {
  const clock = new VirtualClock()
  let end = () => {}
  const database: Database = {
    ...noDatabase,
    size: { pageUnits: 0, journalUnits: 1_000_000 },
    append: async () => {},
    checkpoint: () =>
      new Promise((resolve) => {
        end = () => resolve(false)
      }),
  }
  const disk = new LocalDisk({
    openDatabase: async () => database,
    clock,
    listener,
  })
  await disk.open()
  disk.resume()
  disk.record({ since: 0, sid: 1, ops: [] })
  await clock.advance(3_000)
  disk.suspend(full)
  expect([disk.failure, clock.timers]).toEqual([full, 1])
  disk.resume()
  expect([disk.failure, clock.timers]).toEqual([undefined, 0])
  disk.suspend(full)
  await disk.close()
  end()
  await clock.advance(0)
  expect(clock.timers).toBe(0)
})

test('the disk is closed once what is written in one that was opened again has ended', async () => {
  const clock = new VirtualClock()
  const waited = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve))
  const closed = new StorageError('closed', 'Closed.', { retryable: true })
  const first: Database = { ...noDatabase, append: () => Promise.reject(closed) }
  const second: Database = { ...noDatabase, append: () => waited(1_000).then(() => Promise.reject(full)) }
  let opened = 0
  const told: unknown[] = []
  const disk = new LocalDisk({
    openDatabase: async () => {
      opened += 1
      if (opened === 1) return first
      await waited(100)
      return second
    },
    clock,
    listener: { ...listener, storage: (_, failure) => told.push(failure) },
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

test('a checkpoint that was to come is none once the disk is closed', async () => {
  const clock = new VirtualClock()
  let checkpoints = 0
  const database: Database = {
    ...noDatabase,
    size: { pageUnits: 0, journalUnits: 1_000_000 },
    append: async () => {},
    checkpoint: async () => {
      checkpoints += 1
      return true
    },
  }
  const disk = new LocalDisk({ openDatabase: async () => database, clock, listener })
  await disk.open()
  disk.resume()
  disk.record({ since: 0, sid: 1, ops: [] })
  await disk.close()
  expect(clock.timers).toBe(0)
  await clock.advance(10_000)
  expect(checkpoints).toBe(0)
})

test('what is on the disk is read once, also where the engine closes it and it is opened again', async () => {
  const clock = new VirtualClock()
  const engine = new ClosableStore()
  const told: string[] = []
  const disk = new LocalDisk({
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

test('a checkpoint that ends well does not hide that what came meanwhile is not stored', async () => {
  const clock = new VirtualClock()
  let end = () => {}
  const database: Database = {
    ...noDatabase,
    size: { pageUnits: 0, journalUnits: 1_000_000 },
    append: async ({ sid }) => {
      if (sid > 1) throw full
    },
    checkpoint: () =>
      new Promise((resolve) => {
        end = () => resolve(true)
      }),
  }
  const told: unknown[] = []
  const disk = new LocalDisk({
    openDatabase: async () => database,
    clock,
    listener: { ...listener, storage: (_, failure) => told.push(failure) },
  })
  await disk.open()
  disk.resume()
  disk.record({ since: 0, sid: 1, ops: [] })
  await clock.advance(3_000)
  disk.record({ since: 1, sid: 2, ops: [] })
  await clock.advance(0)
  end()
  await clock.advance(0)
  expect([told.at(-1), disk.failure]).toEqual([full, full])
  await disk.close()
})

test('a checkpoint that a snapshot has ended tells of no failure', async () => {
  const clock = new VirtualClock()
  let fail = () => {}
  const database: Database = {
    ...noDatabase,
    size: { pageUnits: 0, journalUnits: 1_000_000 },
    append: async () => {},
    checkpoint: () =>
      new Promise((_, reject) => {
        fail = () => reject(full)
      }),
  }
  const told: unknown[] = []
  const disk = new LocalDisk({
    openDatabase: async () => database,
    clock,
    listener: { ...listener, storage: (_, failure) => told.push(failure) },
  })
  await disk.open()
  disk.resume()
  disk.record({ since: 0, sid: 1, ops: [] })
  await clock.advance(3_000)
  expect(await disk.replace(database, async () => undefined)).toBe('stored')
  fail()
  await clock.advance(0)
  expect([told.at(-1), clock.timers]).toEqual([undefined, 0])
  await disk.close()
})

test('a database that the engine has taken away is let go of once another is open in its place', async () => {
  const closed: string[] = []
  const named = (name: string): Database => ({ ...noDatabase, close: () => void closed.push(name) })
  const databases = [named('first'), named('second')]
  let lose = () => {}
  const disk = new LocalDisk({
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

test('after a snapshot a checkpoint is made again when it is due, one at a time', async () => {
  const clock = new VirtualClock()
  const ends: (() => void)[] = []
  const database: Database = {
    ...noDatabase,
    size: { pageUnits: 0, journalUnits: 1_000_000 },
    append: async () => {},
    checkpoint: () => new Promise((resolve) => ends.push(() => resolve(false))),
  }
  const disk = new LocalDisk({ openDatabase: async () => database, clock, listener })
  await disk.open()
  disk.resume()
  const begunAfter = async (sid: number) => {
    disk.record({ since: sid - 1, sid, ops: [] })
    await clock.advance(10_000)
    return ends.length
  }
  disk.record({ since: 0, sid: 1, ops: [] })
  await disk.replace(database, async () => undefined)
  expect(await begunAfter(2)).toBe(1)
  await disk.replace(database, async () => undefined)
  expect(await begunAfter(3)).toBe(2)
  // Only now has the one ended that the snapshot before it took the place of.
  ends[0]?.()
  await clock.advance(0)
  expect(await begunAfter(4)).toBe(2)
  ends[1]?.()
  await clock.advance(0)
  expect(await begunAfter(5)).toBe(3)
  await disk.close()
})

test('the disk is closed once what was recorded is written', async () => {
  const clock = new VirtualClock()
  const told: string[] = []
  const database: Database = {
    ...noDatabase,
    append: async () => {
      await new Promise<void>((resolve) => void clock.after(1_000, resolve))
      told.push('written')
    },
    close: () => void told.push('closed'),
  }
  const disk = new LocalDisk({ openDatabase: async () => database, clock, listener })
  await disk.open()
  disk.resume()
  disk.record({ since: 0, sid: 1, ops: [] })
  await clock.until(disk.close())
  expect(told).toEqual(['written', 'closed'])
})
