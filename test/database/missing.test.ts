import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Database } from '../../src/database/database.ts'
import { openDatabase } from '../../src/database/open.ts'
import { defineModels } from '../../src/models/models.ts'
import { fold as foldOps, type RowOp, type RowSource } from '../../src/protocol/fold.ts'
import type { WireRow } from '../../src/protocol/row.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { frame } from '../support/arbitraries.ts'
import { name, open } from '../support/store-databases.ts'
import { rowsNamed, snapshotOf, storeSnapshot } from '../support/store-state.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

const first = snapshotOf(10, rowsNamed('a', 'b', 'c'))
const update = (id: string): RowOp => ({ op: 'u', t: 'Issue', id, p: { n: 1 } })

/** A database with a snapshot. */
async function setUp() {
  const store = memoryStore()
  const database = await open(store)
  await storeSnapshot(database, first)
  return { store, database }
}

/** When records that are missing were last repaired, as a restart is told. */
async function repairedAt(database: Database): Promise<number | undefined> {
  return (await database.restore({ rows: () => {}, ops: () => {} }))?.repairedAt
}

describe('that records are missing', () => {
  test.each([
    ['alone', { since: 11, sid: 11, ops: [] }],
    ['with a delta', { since: 11, sid: 12, ops: [update('x')] }],
  ])('is known after a restart, where it is recorded %s', async (_, entry) => {
    const { store, database } = await setUp()
    await database.append({ since: 10, sid: 11, ops: [update('a')] })
    await database.append({ ...entry, repairedAt: 7 })
    await database.append({ since: entry.sid, sid: 13, ops: [update('b')] })
    expect(await repairedAt(await open(store))).toBe(7)
  })

  test('is known through an epoch and a checkpoint, until there is a snapshot', async () => {
    const { store, database } = await setUp()
    await database.append({ since: 10, sid: 11, ops: [update('x')], repairedAt: 7 })
    await database.append({ since: 11, sid: 12, ops: [], epoch: 'y' })
    await database.checkpoint()
    expect(await repairedAt(await open(store))).toBe(7)
    const again = await open(store)
    await storeSnapshot(again, first)
    expect(await repairedAt(await open(store))).toBeUndefined()
  })

  test('is known through a migration', async () => {
    const { store, database } = await setUp()
    await database.append({ since: 10, sid: 11, ops: [update('x')], repairedAt: 7 })
    const models = defineModels({}, { version: 2, migrate: {} })
    const opened = () => openDatabase({ store, name, clock: new VirtualClock(), models })
    expect([await repairedAt(await opened()), await repairedAt(await opened())]).toEqual([7, 7])
  })

  test.each<readonly [string, number, (database: Database) => Promise<unknown>]>([
    ['checkpoint', 1, (database) => database.checkpoint()],
    ['migration', 2, async () => {}],
  ])('is known after a %s, exactly where it drops changes to unknown records', async (_, version, fold) => {
    const rows = ['a', 'b'].map((t): WireRow => ({ t, id: '1', p: {} }))
    const source: RowSource = { get: (t, id) => rows.find((row) => row.t === t && row.id === id) }
    const models = defineModels({}, { version, migrate: {} })
    const deltas = fc.array(fc.array(frame(fc.constant(1)), { minLength: 1 }), { minLength: 1 })
    await fc.assert(
      fc.asyncProperty(deltas, async (lists) => {
        const store = memoryStore()
        const database = await open(store)
        await storeSnapshot(database, snapshotOf(0, rows), 1)
        for (const [n, ops] of lists.entries()) await database.append({ since: n, sid: n + 1, ops })
        await fold(database)
        const expected = foldOps(source, lists.flat()).unknown.length > 0 ? 0 : undefined
        const opened = () => openDatabase({ store, name, clock: new VirtualClock(), models })
        // The first one migrates it, the second finds it so.
        const told = [await repairedAt(await opened()), await repairedAt(await opened())]
        expect(told).toEqual([expected, expected])
      }),
    )
  })
})
