import * as fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { checkpointDue } from '../../src/persistence/checkpoint-due.ts'
import type { RowOp } from '../../src/protocol/fold.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import type { Store } from '../../src/storage/store.ts'
import * as arbitrary from '../support/arbitraries.ts'
import { type Database, openDatabase } from '../support/database.ts'
import { behind, name, open } from '../support/store-databases.ts'
import {
  pageOf,
  plain,
  restoreState,
  row,
  rowsNamed,
  snapshotOf,
  storeSnapshot,
} from '../support/store-state.ts'
import { type Step, withSteps } from '../support/store-steps.ts'
import { VirtualClock } from '../support/virtual.ts'

const first = snapshotOf(
  10,
  [...rowsNamed('a', 'b', 'c', 'd'), row('p', {}, 'Project'), row('q', {}, 'Project')],
  'x',
)

const update = (id: string, n: number, t = 'Issue'): RowOp => ({ op: 'u', t, id, p: { n } })
const remove = (id: string): RowOp => ({ op: 'd', t: 'Issue', id })
const insert = (id: string): RowOp => ({ op: 'i', t: 'Issue', id, p: { title: id } })

/** A database with a journal of one record for each of `deltas`, and the steps of its store as they happen. */
async function setUp(...deltas: readonly (readonly RowOp[])[]) {
  const store = memoryStore()
  const steps: Step[] = []
  let onStep = (_: Step): Promise<void> | undefined => undefined
  const watched = withSteps(store, {
    awaited(step) {
      steps.push(step)
      return onStep(step)
    },
    immediate: (step) => void steps.push(step),
  })
  const clock = new VirtualClock()
  const database = await openDatabase({ store: watched, name, clock })
  await storeSnapshot(database, first)
  for (const [n, ops] of deltas.entries()) await database.append({ since: 10 + n, sid: 11 + n, ops })
  steps.length = 0
  const hook = (listener: typeof onStep) => {
    onStep = listener
  }
  return { store, database, clock, steps, hook }
}

const keys = (store: Store, table: 'pages' | 'journal') => behind(store, (tx) => tx.keys(table))

/** The pages as they are listed, with their rows. */
async function pages(database: Database): Promise<string[][]> {
  const found: string[][] = []
  await database.restore({ rows: (rows) => found.push(rows.map(({ id }) => id)), ops: () => {} })
  return found
}

describe('a checkpoint', () => {
  test('rewrites only changed pages, and reads only those of changed types', async () => {
    const { store, database, steps } = await setUp([update('a', 1)])
    const before = await keys(store, 'pages')
    await database.checkpoint()
    const after = await keys(store, 'pages')
    expect(after.filter((key) => before.includes(key))).toEqual(before.slice(1))
    expect(after).toHaveLength(3)
    const read = steps.filter(({ name, table }) => name === 'get' && table === 'pages')
    expect(read.map(({ key }) => key).sort()).toEqual(before.slice(0, 2))
  })

  test('keeps the order of the pages, drops empty ones, and adds new records at the end', async () => {
    const { database } = await setUp([remove('a'), remove('b'), update('c', 1), insert('e')])
    await database.checkpoint()
    expect(await pages(database)).toEqual([['c', 'd'], ['p', 'q'], ['e']])
  })

  test('cuts new pages at 1 000 rows and at 256 kB', async () => {
    const { database } = await setUp(
      Array.from({ length: 2_500 }, (_, n) => insert(`n${n}`)),
      Array.from(
        { length: 5 },
        (_, n): RowOp => ({ op: 'i', t: 'Issue', id: `l${n}`, p: { s: 'x'.repeat(100_000) } }),
      ),
    )
    await database.checkpoint()
    const sizes = (await pages(database)).slice(3).map((ids) => ids.length)
    expect(sizes).toEqual([1_000, 1_000, 502, 2, 1])
  })

  test('yields to other tasks after every page', async () => {
    const { database, clock } = await setUp([
      update('a', 1),
      update('d', 1),
      update('q', 1, 'Project'),
      insert('e'),
    ])
    const pause = vi.spyOn(clock, 'pause')
    await database.checkpoint()
    expect(pause).toHaveBeenCalledTimes(4)
  })

  test('keeps what is appended during it', async () => {
    const { store, database, hook } = await setUp([update('a', 1)], [insert('e')])
    let sid = 12
    const appending: Promise<void>[] = []
    // One append behind every page that the checkpoint reads or writes.
    hook((step) => {
      if (step.name === 'complete' && sid < 20 && appending.length < 4) {
        appending.push(
          database.append({ since: sid, sid: ++sid, ops: [update('a', sid), insert(`m${sid}`)] }),
        )
      }
      return undefined
    })
    expect(await database.checkpoint()).toBe(true)
    await Promise.all(appending)
    expect(appending).toHaveLength(4)
    const state = await restoreState(await open(store))
    expect(state?.sid).toBe(16)
    expect(state?.rows.get('5:Issuea')?.p).toEqual({ title: 'a', n: 16 })
    expect([...(state?.rows.values() ?? [])].map(({ id }) => id)).toEqual(
      expect.arrayContaining(['e', 'm13', 'm14', 'm15', 'm16']),
    )
  })

  test('gives up without harm if a snapshot replaces its pages', async () => {
    const other = snapshotOf(30, rowsNamed('x', 'y', 'z'), 'y')
    const outcomes = new Set<boolean>()
    for (let at = 0; ; at += 1) {
      const { store, database, hook } = await setUp(
        [update('a', 1), insert('e')],
        [update('q', 2, 'Project')],
      )
      let completed = 0
      let switching: Promise<void> | undefined
      hook(({ name }) => {
        if (name !== 'complete') return undefined
        completed += 1
        if (completed - 1 !== at || switching) return undefined
        switching = storeSnapshot(database, other)
        return switching
      })
      const done = await database.checkpoint()
      if (!switching) break
      outcomes.add(done)
      expect(plain(await restoreState(database)), `at ${at}`).toEqual(plain(other))
      // What a writer leaves that ends just then, the next one removes.
      await database.append({ since: 30, sid: 31, ops: [update('x', 1)] })
      await database.checkpoint()
      expect(await keys(store, 'pages'), `at ${at}`).toHaveLength(2)
    }
    expect(outcomes.has(false)).toBe(true)
  })

  test('ends on its signal between two slices, and changes nothing', async () => {
    for (let at = 1; ; at += 1) {
      const { store, database, clock, steps } = await setUp([update('a', 1), update('d', 1), insert('e')])
      const before = await restoreState(database)
      const controller = new AbortController()
      let slices = 0
      vi.spyOn(clock, 'pause').mockImplementation(async () => {
        slices += 1
        if (slices !== at) return
        controller.abort()
        steps.length = 0
      })
      const done = await database.checkpoint(controller.signal)
      const late = steps.filter(({ name, table }) => table === 'pages' && (name === 'get' || name === 'put'))
      expect(plain(await restoreState(database))).toEqual(plain(before))
      if (!controller.signal.aborted) break
      expect([done, late]).toEqual([false, []])
      expect(await keys(store, 'pages')).toHaveLength(3)
      expect(await keys(store, 'journal')).toHaveLength(1)
    }
  })

  test('changes no visible data, whatever the rows and ops', async () => {
    const target = {
      t: fc.constantFrom('a', 'b', '__proto'),
      id: fc.constantFrom('1', '2', '3', 'constructor', ''),
    }
    const op: fc.Arbitrary<RowOp> = fc.oneof(
      fc.record({ op: fc.constant('i' as const), ...target, p: arbitrary.payload }),
      fc.record({ op: fc.constant('u' as const), ...target, p: arbitrary.payload }),
      fc.record({ op: fc.constant('d' as const), ...target }),
    )
    const page = fc.array(fc.record({ ...target, p: arbitrary.payload }), { maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(fc.array(page, { maxLength: 4 }), fc.array(fc.array(op)), async (all, deltas) => {
        const store = memoryStore()
        const database = await open(store)
        const writer = await database.snapshot()
        for (const rows of all) await writer.page(pageOf(rows))
        await writer.commit({ sid: 0 })
        for (const [n, ops] of deltas.entries()) await database.append({ since: n, sid: n + 1, ops })
        const before = plain(await restoreState(database))
        expect(await database.checkpoint()).toBe(deltas.length > 0)
        expect(plain(await restoreState(await open(store)))).toEqual(before)
      }),
    )
  })
})

test('a checkpoint is due once the journal is large compared with the pages', () => {
  expect(checkpointDue({ pageUnits: 0, journalUnits: 100_000 })).toBe(false)
  expect(checkpointDue({ pageUnits: 0, journalUnits: 600_000 })).toBe(true)
  expect(checkpointDue({ pageUnits: 40_000_000, journalUnits: 9_000_000 })).toBe(false)
  expect(checkpointDue({ pageUnits: 40_000_000, journalUnits: 11_000_000 })).toBe(true)
})
