import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { defineModels } from '../../src/models/models.ts'
import type { Database } from '../../src/persistence/database.ts'
import { metaKeys } from '../../src/persistence/format.ts'
import { openDatabase } from '../../src/persistence/open.ts'
import { fold, type RowOp, type RowSource } from '../../src/protocol/fold.ts'
import type { WireRow } from '../../src/protocol/row.ts'
import { Replica } from '../../src/records/replica.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { frame } from '../support/arbitraries.ts'
import { behind, name, open } from '../support/store-databases.ts'
import { rowsNamed, snapshotOf, storeSnapshot } from '../support/store-state.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

const clock = new VirtualClock()
const first = snapshotOf(10, rowsNamed('a', 'b', 'c'))
const update = (id: string): RowOp => ({ op: 'u', t: 'Issue', id, p: { n: 1 } })

/** A database with a snapshot. */
async function setUp() {
  const store = memoryStore()
  const database = await open(store)
  await storeSnapshot(database, first)
  return { store, database }
}

/** What a restart finds of a repair. `owed` also if the journal has changes of missing records. */
async function repairIn(database: Database) {
  const replica = new Replica({ clock: new VirtualClock(), onListenerError: () => {} })
  const staging = replica.stage()
  const restored = await database.restore({
    rows: (rows) => staging.add(rows),
    ops: (ops) => staging.apply(ops),
  })
  const { owed, at } = restored?.repair ?? {}
  return { owed: owed || staging.unknown.length > 0, at }
}

const nothing = { owed: false, at: undefined }

describe('a due repair', () => {
  test.each([
    ['alone', { since: 11, sid: 11, ops: [] }],
    ['with a delta', { since: 11, sid: 12, ops: [update('a')] }],
  ])('is known after a restart if it is recorded %s', async (_, entry) => {
    const { store, database } = await setUp()
    await database.append({ since: 10, sid: 11, ops: [update('a')] })
    await database.append({ ...entry, owesRepair: true })
    await database.append({ since: entry.sid, sid: 13, ops: [update('b')] })
    expect(await repairIn(await open(store))).toEqual({ ...nothing, owed: true })
  })

  test('is known through an epoch, a checkpoint and a migration, until there is a snapshot', async () => {
    const { store, database } = await setUp()
    await database.append({ since: 10, sid: 11, ops: [update('a')], owesRepair: true })
    await database.append({ since: 11, sid: 12, ops: [], epoch: 'y' })
    await database.checkpoint()
    const opened = () =>
      openDatabase({ store, name, clock, models: defineModels({}, { version: 2, migrate: {} }) })
    // The first one migrates it.
    for (const _ of [1, 2]) expect(await repairIn(await opened())).toEqual({ ...nothing, owed: true })
    await storeSnapshot(await opened(), first)
    expect(await repairIn(await opened())).toEqual(nothing)
  })

  test('goes with the data', async () => {
    const { store, database } = await setUp()
    await database.append({ since: 10, sid: 11, ops: [], owesRepair: true })
    await database.drop()
    expect(await behind(store, (tx) => tx.get('meta', metaKeys.repair))).toBeUndefined()
  })
})

test('the time of the last repair is known after it', async () => {
  const { store, database } = await setUp()
  const writer = await database.snapshot()
  await writer.commit({ sid: 20 }, { at: 7 })
  await database.append({ since: 20, sid: 20, ops: [], owesRepair: true })
  await database.append({ since: 20, sid: 21, ops: [update('x')] })
  await database.checkpoint()
  expect(await repairIn(await open(store))).toEqual({ owed: true, at: 7 })
})

test.each<readonly [string, number, (database: Database) => Promise<unknown>]>([
  ['checkpoint', 1, (database) => database.checkpoint()],
  ['migration', 2, async () => {}],
])('a repair is owed after a %s if a change was for a missing record', async (_, version, foldNow) => {
  const rows = ['a', 'b'].map((t): WireRow => ({ t, id: '1', p: {} }))
  const source: RowSource = {
    of: (t) => ({ get: (id) => rows.find((row) => row.t === t && row.id === id) }),
  }
  const models = defineModels({}, { version, migrate: {} })
  const delta = fc.array(frame(fc.constant(1)), { minLength: 1, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(fc.array(delta, { minLength: 2 }), fc.nat(), async (lists, place) => {
      const store = memoryStore()
      const database = await open(store)
      await storeSnapshot(database, snapshotOf(0, rows), 1)
      for (const [n, ops] of lists.entries()) {
        await database.append({ since: n, sid: n + 1, ops })
        if (n === place % lists.length) await foldNow(database)
      }
      await foldNow(database)
      const { unknown } = fold(source, lists.flat())
      const expected = unknown.length > 0
      const opened = () => openDatabase({ store, name, clock, models })
      // The first one migrates it, the second finds it so. A checkpoint forgets which record it was, and a later one
      // does not see that the record came after all.
      const found = [await repairIn(await opened()), await repairIn(await opened())].map(({ owed }) => owed)
      if (expected || version === 2) expect(found).toEqual([expected, expected])
      else expect(found[0]).toBe(found[1])
    }),
  )
})

test.each([null, 'x', { owed: 1, at: '7' }])('an unreadable entry counts as nothing: %j', async (stored) => {
  const { store } = await setUp()
  await behind(store, async (tx) => tx.put('meta', metaKeys.repair, stored))
  expect(await repairIn(await open(store))).toEqual(nothing)
})
