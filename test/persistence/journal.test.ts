import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JournalEntry } from '../../src/persistence/stored-data.ts'
import type { RowOp } from '../../src/protocol/fold.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { name as anyName, payload } from '../support/arbitraries.ts'
import { type Database, openDatabase } from '../support/database.ts'
import { PacedClock } from '../support/paced-clock.ts'
import { name, open } from '../support/store-databases.ts'
import { FaultyStore } from '../support/store-faults.ts'
import {
  appended,
  plain,
  restoreState,
  rowsNamed,
  snapshotOf,
  storeSnapshot,
} from '../support/store-state.ts'
import { type Step, withSteps } from '../support/store-steps.ts'

const first = snapshotOf(10, rowsNamed('a', 'b', 'c'))

async function setUp(state = first) {
  const store = memoryStore()
  const database = await open(store)
  await storeSnapshot(database, state)
  return { store, database }
}

const entry = (since: number, sid: number, ops: readonly RowOp[] = []): JournalEntry => ({ since, sid, ops })
const insert = (id: string): RowOp => ({ op: 'i', t: 'Issue', id, p: { title: id } })

describe('an append', () => {
  test.each([
    ['behind', entry(9, 12, [insert('d')])],
    ['ahead', entry(11, 12, [insert('d')])],
    ['backwards', entry(10, 9)],
  ])('that does not follow from what is stored is refused with `broken_link`: %s', async (_, wrong) => {
    const { store, database } = await setUp()
    await expect(database.append(wrong)).rejects.toMatchObject({ name: 'StorageError', code: 'broken_link' })
    expect(plain(await restoreState(await open(store)))).toEqual(plain(first))
  })

  test.each([
    ['no epoch', undefined, undefined],
    ['an epoch that only the snapshot told', 'x', undefined],
    ['the same epoch', 'x', 'x'],
  ])('that continues the last one reads only the fence: %s', async (_, known, epoch) => {
    const steps: Step['name'][] = []
    const note = ({ name }: Step) => void steps.push(name)
    const store = withSteps(memoryStore(), { awaited: note, immediate: note })
    const database = await open(store)
    await storeSnapshot(database, { ...first, epoch: known })
    await database.append({ ...entry(10, 11, [insert('d')]), epoch })
    steps.length = 0
    await database.append({ ...entry(11, 12, [insert('e')]), epoch })
    expect(steps).toEqual(['begin', 'get', 'put', 'end', 'complete'])
    expect((await restoreState(await open(store)))?.sid).toBe(12)
  })

  test.each<readonly [string, (database: Database) => Promise<unknown>]>([
    ['a snapshot', (database) => storeSnapshot(database, snapshotOf(20, []))],
    ['a removal of all', (database) => database.drop()],
    ['another append', (database) => database.append(entry(11, 12))],
  ])('is compared with the stored data again after %s', async (_, change) => {
    const { database } = await setUp()
    await database.append(entry(10, 11))
    await change(database)
    const late = database.append(entry(11, 12, [insert('d')]))
    await expect(late).rejects.toMatchObject({ code: 'broken_link' })
  })

  test('of many ops yields first', async () => {
    const clock = new PacedClock()
    const database = await openDatabase({ store: memoryStore(), name, clock })
    await storeSnapshot(database, first)
    const before = clock.turns
    await database.append(
      entry(
        10,
        11,
        Array.from({ length: 1_000 }, (_, n) => insert(String(n))),
      ),
    )
    expect(clock.turns).toBe(before)
    await database.append(
      entry(
        11,
        12,
        Array.from({ length: 1_001 }, (_, n) => insert(String(n))),
      ),
    )
    expect(clock.turns).toBe(before + 1)
  })

  test('invariant 53: types, ids and fields of any name come back as they were', async () => {
    const op: fc.Arbitrary<RowOp> = fc.oneof(
      fc.record({ op: fc.constant('i' as const), t: anyName, id: anyName, p: payload }),
      fc.record({ op: fc.constant('u' as const), t: anyName, id: anyName, p: payload }),
      fc.record({ op: fc.constant('d' as const), t: anyName, id: anyName }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(op), async (ops) => {
        const { store, database } = await setUp()
        await database.append(entry(10, 11, ops))
        expect(plain(await restoreState(await open(store)))).toEqual(
          plain(appended(first, entry(10, 11, ops))),
        )
      }),
      { numRuns: 50 },
    )
    expect(Object.keys({}.constructor.prototype)).toEqual([])
  })
})

test('invariant 59: an append that fails, followed by one that would succeed, leaves no hole', async () => {
  const store = memoryStore()
  const faulty = new FaultyStore(store)
  const database = await open(faulty.store)
  await storeSnapshot(database, first)
  await database.append(entry(10, 11, [insert('d')]))
  faulty.arm(2, 'throw')
  await expect(database.append(entry(11, 12, [insert('lost')]))).rejects.toThrow('on purpose')
  expect(faulty.struck).toBe(true)
  await expect(database.append(entry(12, 13, [insert('e')]))).rejects.toMatchObject({ code: 'broken_link' })
  const expected = appended(first, entry(10, 11, [insert('d')]))
  expect(plain(await restoreState(await open(store)))).toEqual(plain(expected))
})
