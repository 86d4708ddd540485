import * as fc from 'fast-check'
import { resolveEnvironment } from '../../src/base/environment.default.ts'
import type { Database } from '../../src/persistence/database.ts'
import { openDatabase } from '../../src/persistence/open.ts'
import type { RowOp } from '../../src/protocol/fold.ts'
import { isName } from '../../src/protocol/guards.ts'
import { rejection, same, storageError } from '../../src/storage/contract/context.ts'
import { withTimeLimits } from '../../src/storage/deadline.ts'
import { indexedDbStore } from '../../src/storage/indexeddb.ts'
import {
  appended,
  pageOf,
  plain,
  restoreState,
  row,
  rowsNamed,
  snapshotOf,
  storeSnapshot,
} from '../support/store-state.ts'
import type { PageCase } from './in-page.ts'

const { clock } = resolveEnvironment()
const store = withTimeLimits(indexedDbStore(), clock)

const first = snapshotOf(10, rowsNamed('a', 'b', 'c', 'd'), 'x')
const other = snapshotOf(50, rowsNamed('x', 'y', 'z'), 'y')

function test(name: string, run: (open: () => Promise<Database>) => Promise<void>): PageCase {
  return {
    name,
    async run() {
      const database = crypto.randomUUID()
      await run(() => openDatabase({ store, name: database, clock }))
      await store.destroy(database)
    },
  }
}

const found = async (database: Database) => plain(await restoreState(database))

/** A database of one's own in a real engine. */
export const databaseCases: readonly PageCase[] = [
  test('keeps a snapshot, deltas and a checkpoint over reopening', async (open) => {
    const database = await open()
    await storeSnapshot(database, first)
    let state = first
    for (let sid = 11; sid < 40; sid += 1) {
      const ops: RowOp[] = [{ op: 'i', t: 'Issue', id: `n${sid % 7}`, p: { odd: '\ud800\u0000', sid } }]
      await database.append({ since: sid - 1, sid, ops })
      state = appended(state, { since: sid - 1, sid, ops })
    }
    same(await found(await open()), plain(state), 'before the checkpoint')
    same(await (await open()).checkpoint(), true, 'whether it was done')
    same(await found(await open()), plain(state), 'after the checkpoint')
  }),

  test('invariant 40: refuses whoever opened it before', async (open) => {
    const former = await open()
    await storeSnapshot(former, first)
    await open()
    await storageError(former.append({ since: 10, sid: 11, ops: [] }), 'an append', 'fenced')
    await storageError(storeSnapshot(former, other), 'a snapshot', 'fenced')
    same(await found(await open()), plain(first), 'what is stored')
  }),

  test('refuses everybody who is in the midst of appending while others open it and fold the journal', async (open) => {
    await storeSnapshot(await open(), first)
    let promised = first.sid
    const append = async (database: Database) => {
      for (let sid = (await found(database))?.sid ?? 0; ; sid += 1) {
        await database.append({ since: sid, sid: sid + 1, ops: [] })
        promised = Math.max(promised, sid + 1)
      }
    }
    const ends: Promise<unknown>[] = []
    for (let n = 0; n < 4; n += 1) {
      const database = await open()
      await database.checkpoint()
      ends.push(rejection(append(database), 'appending'))
      for (const before = promised; promised < before + 3; ) await clock.pause()
    }
    const last = await open()
    await last.checkpoint()
    const codes = (await Promise.all(ends)).map((error) => (error as { code?: string }).code)
    same(codes, ['fenced', 'fenced', 'fenced', 'fenced'], 'how each came to its end')
    same((await found(last))?.sid, promised, 'the position')
  }),

  test('invariant 59: appends begun at once leave no hole, and one that does not follow is refused', async (open) => {
    const database = await open()
    await storeSnapshot(database, first)
    await Promise.all([11, 12, 13, 14].map((sid) => database.append({ since: sid - 1, sid, ops: [] })))
    await storageError(database.append({ since: 20, sid: 21, ops: [] }), 'an append', 'broken_link')
    same((await found(await open()))?.sid, 14, 'the position')
  }),

  test('invariant 60: restoring during a checkpoint and a snapshot sees one consistent state', async (open) => {
    const reading = await open()
    const writing = await open()
    const big = snapshotOf(
      10,
      Array.from({ length: 2_000 }, (_, n) => row(`${n}`, { text: 'x'.repeat(200) })),
    )
    const delta = {
      since: 10,
      sid: 11,
      ops: [0, 500, 1_999].map((n) => ({ op: 'd', t: 'Issue', id: `${n}` }) as const),
    }
    const old = appended(big, delta)
    await storeSnapshot(writing, big, 100)
    await writing.append(delta)
    let done = false
    const changing = writing
      .checkpoint()
      .then(() => storeSnapshot(writing, other, 1))
      .finally(() => {
        done = true
      })
    while (!done) {
      const state = await found(reading)
      same(state, plain(state?.sid === 11 ? old : other), 'what is found meanwhile')
    }
    await changing
    same(await found(reading), plain(other), 'what is found in the end')
  }),

  test('invariant 61: a snapshot that was not committed leaves nothing to the next', async (open) => {
    const database = await open()
    await storeSnapshot(database, first)
    const interrupted = await database.snapshot()
    await interrupted.page(pageOf(rowsNamed('lost')))
    database.close()
    const again = await open()
    same(await found(again), plain(first), 'what is found')
    await storeSnapshot(again, other)
    same(await found(again), plain(other), 'what is found after the next')
  }),

  test('two snapshots at once: the last to commit holds, whole', async (open) => {
    const database = await open()
    const [one, two] = [await database.snapshot(), await database.snapshot()]
    await Promise.all([one.page(pageOf(rowsNamed('one'))), two.page(pageOf(rowsNamed('two')))])
    await Promise.all([one.commit({ sid: 1 }), two.commit({ sid: 2 })])
    same(await found(await open()), plain(snapshotOf(2, rowsNamed('two'))), 'what is found')
  }),

  test('a closed database refuses', async (open) => {
    const database = await open()
    database.close()
    await storageError(database.append({ since: 0, sid: 1, ops: [] }), 'an append', 'closed')
    await storageError(restoreState(database), 'a restore', 'closed')
  }),

  test('a sink that throws leaves the database as it was', async (open) => {
    const database = await open()
    await storeSnapshot(database, first)
    const rows = () => {
      throw new Error('on purpose')
    }
    await rejection(database.restore({ rows, ops: () => {} }), 'a restore')
    same(await found(database), plain(first), 'what is found')
  }),

  test('any rows and ops come back as they were, also through a checkpoint', async (open) => {
    const database = await open()
    const target = { t: fc.constantFrom('a', 'constructor'), id: fc.constantFrom('1', '', '\ud800') }
    const payload = fc.dictionary(
      fc.string({ unit: 'binary' }).filter(isName),
      fc.jsonValue({ stringUnit: 'binary' }),
    )
    const insert = fc.record({ op: fc.constant('i' as const), ...target, p: payload }) as fc.Arbitrary<RowOp>
    await fc.assert(
      fc.asyncProperty(fc.array(insert, { maxLength: 5 }), fc.boolean(), async (ops, checkpoints) => {
        await storeSnapshot(database, first)
        await database.append({ since: 10, sid: 11, ops })
        if (checkpoints) await database.checkpoint()
        same(await found(database), plain(appended(first, { since: 10, sid: 11, ops })), 'what is found')
      }),
      { numRuns: 30 },
    )
  }),
]
