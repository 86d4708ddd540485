import { describe, expect, test } from 'vitest'
import { memoryStore } from '../../src/storage/memory.ts'
import { behind, open, storedAt } from '../support/store-databases.ts'
import { type Fault, FaultyStore } from '../support/store-faults.ts'
import {
  pageOf,
  plain,
  restoreState,
  row,
  rowsNamed,
  snapshotOf,
  storeSnapshot,
} from '../support/store-state.ts'

const old = snapshotOf(10, rowsNamed('a', 'b', 'c', 'd'), 'x')
const other = snapshotOf(20, [...rowsNamed('b', 'e'), row('1', {}, 'Project')], 'y')

async function setUp() {
  const store = memoryStore()
  const database = await open(store)
  await storeSnapshot(database, old)
  return { store, database }
}

describe('a snapshot', () => {
  test('is restored after a restart, with its pages in order', async () => {
    const { store } = await setUp()
    const database = await open(store)
    const pages: unknown[] = []
    const restored = await database.restore({ rows: (rows) => pages.push(rows), ops: () => {} })
    expect(restored).toMatchObject({ sid: 10, epoch: 'x', at: storedAt, repair: { owed: false } })
    expect(pages).toEqual([rowsNamed('a', 'b'), rowsNamed('c', 'd')])
  })

  test('invariant 8: replaces everything: absent rows are removed, and so is the journal', async () => {
    const { store, database } = await setUp()
    await database.append({ since: 10, sid: 30, ops: [{ op: 'i', t: 'Issue', id: 'new', p: {} }] })
    await storeSnapshot(database, other)
    await expect(database.append({ since: 30, sid: 31, ops: [] })).rejects.toMatchObject({
      code: 'broken_link',
    })
    expect(plain(await restoreState(await open(store)))).toEqual(plain(other))
  })

  test('leaves the data as it was until it is committed', async () => {
    const { store, database } = await setUp()
    const writer = await database.snapshot()
    await writer.page(pageOf(rowsNamed('x')))
    expect(plain(await restoreState(database))).toEqual(plain(old))
    await database.append({ since: 10, sid: 11, ops: [] })
    await writer.abort()
    expect((await restoreState(database))?.sid).toBe(11)
    expect(await behind(store, (tx) => tx.keys('pages'))).toHaveLength(2)
  })

  test('leaves one broken try at most on the disk, however often the process is killed', async () => {
    const { store } = await setUp()
    for (let n = 0; n < 10; n += 1) {
      const writer = await (await open(store)).snapshot()
      await writer.page(pageOf(rowsNamed('x')))
    }
    expect(await behind(store, (tx) => tx.keys('pages'))).toHaveLength(3)
  })

  test('invariant 33: is not committed if its pages were dropped for lack of room', async () => {
    const { store, database } = await setUp()
    const writer = await database.snapshot()
    await writer.page(pageOf(rowsNamed('x')))
    const under = writer.page(pageOf(rowsNamed('y')))
    await Promise.all([under, database.drop()])
    await expect(writer.page(pageOf(rowsNamed('z')))).rejects.toMatchObject({ code: 'aborted' })
    await expect(writer.commit({ sid: 20 })).rejects.toMatchObject({ code: 'aborted' })
    await writer.abort()
    expect(await restoreState(await open(store))).toBeUndefined()
    expect(await behind(store, (tx) => tx.keys('pages'))).toEqual([])
  })

  test('is not committed if its pages are dropped at the same moment', async () => {
    const { store, database } = await setUp()
    const writer = await database.snapshot()
    await writer.page(pageOf(rowsNamed('x')))
    const committing = expect(writer.commit({ sid: 20 })).rejects.toMatchObject({ code: 'aborted' })
    await database.drop()
    await committing
    expect(await restoreState(await open(store))).toBeUndefined()
  })

  test('waits in its commit for pages that are being written', async () => {
    const { store, database } = await setUp()
    const writer = await database.snapshot()
    const pages = ['x', 'y', 'z'].map((id) => writer.page(pageOf(rowsNamed(id))))
    await Promise.all([...pages, writer.commit({ sid: 20 })])
    expect(plain(await restoreState(await open(store)))).toEqual(
      plain(snapshotOf(20, rowsNamed('x', 'y', 'z'))),
    )
  })

  test('is not damaged by its abort after a commit that was wrongly reported as failed', async () => {
    const seen = new Set<number | undefined>()
    for (let at = 0; ; at += 1) {
      const { store } = await setUp()
      const faulty = new FaultyStore(store)
      const database = await open(faulty.store)
      const writer = await database.snapshot()
      await writer.page(pageOf(rowsNamed('x')))
      faulty.arm(at, 'throw')
      const failed = await writer.commit({ sid: 20 }).then(
        () => false,
        () => true,
      )
      if (!faulty.struck) break
      faulty.disarm()
      await writer.abort()
      const state = await restoreState(await open(store))
      expect(plain(state)).toEqual(plain(state?.sid === 10 ? old : snapshotOf(20, rowsNamed('x'))))
      expect(failed).toBe(true)
      seen.add(state?.sid)
    }
    expect([...seen]).toEqual([10, 20])
  })
})

describe('two snapshots at once', () => {
  test.each(['the first', 'the second'])('%s to commit last is kept, complete', async (last) => {
    const { store, database } = await setUp()
    const [one, two] = [await database.snapshot(), await database.snapshot()]
    await one.page(pageOf(rowsNamed('one-1')))
    await two.page(pageOf(rowsNamed('two-1')))
    await one.page(pageOf(rowsNamed('one-2')))
    await two.page(pageOf(rowsNamed('two-2')))
    const order =
      last === 'the first'
        ? ([
            [two, 'two'],
            [one, 'one'],
          ] as const)
        : ([
            [one, 'one'],
            [two, 'two'],
          ] as const)
    for (const [writer, name] of order) {
      await writer.commit({ sid: 20, epoch: name })
      const expected = snapshotOf(20, rowsNamed(`${name}-1`, `${name}-2`), name)
      expect(plain(await restoreState(database))).toEqual(plain(expected))
    }
    expect(await behind(store, (tx) => tx.keys('pages'))).toHaveLength(2)
  })
})

describe('a crash', () => {
  test('invariant 9: at any step of a snapshot shows the whole old state or the whole new one', async () => {
    const seen = new Set<number | undefined>()
    for (let at = 0; ; at += 1) {
      const { store } = await setUp()
      const faulty = new FaultyStore(store)
      const database = await open(faulty.store)
      faulty.arm(at, 'crash')
      const done = storeSnapshot(database, other, 1)
      await Promise.race([done, faulty.crashed])
      const state = await restoreState(await open(store))
      expect(plain(state), `step ${at}`).toEqual(plain(state?.sid === 10 ? old : other))
      seen.add(state?.sid)
      if (!faulty.struck) break
    }
    expect([...seen]).toEqual([10, 20])
  })

  test('invariant 61: two interrupted snapshots never mix their pages', async () => {
    const { store } = await setUp()
    for (const [name, fault] of [
      ['first', 'crash'],
      ['second', 'crash'],
    ] satisfies [string, Fault][]) {
      const faulty = new FaultyStore(store)
      const database = await open(faulty.store)
      const writer = await database.snapshot()
      for (const n of [1, 2, 3]) await writer.page(pageOf(rowsNamed(`${name}-${n}`)))
      faulty.arm(0, fault)
      void writer.commit({ sid: 15 })
      await faulty.crashed
      expect(plain(await restoreState(await open(store)))).toEqual(plain(old))
    }
    const database = await open(store)
    const writer = await database.snapshot()
    await writer.page(pageOf(rowsNamed('third-1')))
    await writer.commit({ sid: 20 })
    expect(plain(await restoreState(await open(store)))).toEqual(plain(snapshotOf(20, rowsNamed('third-1'))))
    expect(await behind(store, (tx) => tx.keys('pages'))).toHaveLength(1)
  })
})
