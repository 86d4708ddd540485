import { describe, expect, test } from 'vitest'
import { StorageError } from '../../src/base/errors.ts'
import { format } from '../../src/persistence/format.ts'
import type { JournalEntry } from '../../src/persistence/stored-data.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import type { StoreTransaction, StoreValue } from '../../src/storage/store.ts'
import { behind, open, storedAt, stores } from '../support/store-databases.ts'
import {
  appended,
  plain,
  restoreState,
  rowsNamed,
  snapshotOf,
  storeSnapshot,
} from '../support/store-state.ts'
import { withSteps } from '../support/store-steps.ts'
import { settle } from '../support/virtual.ts'

const first = snapshotOf(10, rowsNamed('a', 'b', 'c', 'd'), 'x')
const entries: readonly JournalEntry[] = [11, 12, 13, 14].map((sid) => ({
  since: sid - 1,
  sid,
  ops: [{ op: 'u', t: 'Issue', id: 'a', p: { n: sid } }],
}))

async function setUp(store = memoryStore()) {
  const database = await open(store)
  await storeSnapshot(database, first)
  for (const entry of entries) await database.append(entry)
  database.close()
  return store
}

const keyOf = (since: number) => `000000000000000${since - 10}`

describe('invariant 35: an unreadable journal record ends the journal there', () => {
  const record = (change: { readonly [field: string]: StoreValue }) => (tx: StoreTransaction) =>
    tx.put('journal', keyOf(11), { since: 11, sid: 12, at: storedAt, ops: '[]', ...change })

  test.each<[string, (tx: StoreTransaction) => void]>([
    ['is missing', (tx) => tx.delete('journal', keyOf(11))],
    ['does not link to the one before', record({ since: 10 })],
    ['goes back', record({ sid: 10 })],
    ['is no object', (tx) => tx.put('journal', keyOf(11), 'nonsense')],
    ['says no time', record({ at: 'today' })],
    ['has no text', record({ ops: 5 })],
    ['has text that is not JSON', record({ ops: '[{"op":' })],
    ['has text that is no array', record({ ops: '{}' })],
    ['has an unknown op', record({ ops: '[{"op":"x","t":"Issue","id":"a"}]' })],
    ['has an op without a payload', record({ ops: '[{"op":"u","t":"Issue","id":"a"}]' })],
    ['has an op without an id', record({ ops: '[{"op":"d","t":"Issue"}]' })],
    ['has a row of no version', record({ ops: '[{"op":"i","t":"Issue","id":"a","v":"1","p":{}}]' })],
    ['has a reserved type', record({ ops: '[{"op":"d","t":"__proto__","id":"a"}]' })],
    ['has a reserved field', record({ ops: '[{"op":"u","t":"Issue","id":"a","p":{"__proto__":{}}}]' })],
  ])('where it %s', async (_, damage) => {
    const store = await setUp()
    await behind(store, async (tx) => damage(tx))
    const database = await open(store)
    const ops: unknown[] = []
    const restored = await database.restore({ rows: () => {}, ops: (some) => ops.push(...some) })
    expect(restored).toMatchObject({ sid: 11, epoch: 'x', at: storedAt, repair: { owed: false } })
    expect(ops).toEqual(entries[0]?.ops)
    expect(await behind(store, (tx) => tx.keys('journal'))).toEqual([keyOf(10)])
    await database.append({ since: 11, sid: 12, ops: [] })
    expect(await database.restore({ rows: () => {}, ops: () => {} })).toMatchObject({ sid: 12 })
  })

  test('everything, if it is the first one', async () => {
    const store = await setUp()
    await behind(store, async (tx) => tx.put('journal', keyOf(10), null))
    expect(plain(await restoreState(await open(store)))).toEqual(plain(first))
    expect(await behind(store, (tx) => tx.keys('journal'))).toEqual([])
  })
})

describe('invariant 35: unreadable pages are reported as `unreadable`, and a snapshot repairs them', () => {
  const page = (value: StoreValue) => async (tx: StoreTransaction) => {
    const [key = ''] = await tx.keys('pages', { reverse: true, limit: 1 })
    tx.put('pages', key, value)
  }
  const entry = (change: { readonly [field: string]: StoreValue }) => async (tx: StoreTransaction) => {
    const [key = ''] = await tx.keys('pages')
    tx.put('meta', 'manifest', [{ key, size: 60, types: [['Issue', 2]], ...change }])
  }
  const head = (value: StoreValue) => async (tx: StoreTransaction) => tx.put('meta', 'head', value)

  test.each<[string, (tx: StoreTransaction) => Promise<void>]>([
    ['a page that is missing', async (tx) => tx.delete('pages', {})],
    ['a page that is no text', page([])],
    ['a page that is not JSON', page('[{"t":"Issue","id":"a","p":{}}')],
    ['a page that is no array', page('{}')],
    ['a page with something that is no row', page('[{"t":"Issue","id":"a"}]')],
    ['a page with a reserved field', page('[{"t":"Issue","id":"a","p":{"__proto__":{}}}]')],
    ['a manifest that is missing', async (tx) => tx.delete('meta', 'manifest')],
    ['a manifest that is none', async (tx) => tx.put('meta', 'manifest', {})],
    ['a manifest without a key', entry({ key: 5 })],
    ['a manifest without a size', entry({ size: null })],
    ['a manifest without types', entry({ types: null })],
    ['a head that is none', head('head')],
    ['a head of no format', head({ generation: '1.1', base: 10, at: 0 })],
    ['a head without a position', head({ format, generation: '1.1', at: 0 })],
    ['a head without a time', head({ format, generation: '1.1', base: 10 })],
    ['a head without a writer', head({ format, base: 10, at: 0 })],
    ['a head of no version', head({ format, generation: '1.1', base: 10, at: 0, version: 'one' })],
  ])('%s', async (_, damage) => {
    const store = await setUp()
    await behind(store, damage)
    const database = await open(store)
    await expect(restoreState(database)).rejects.toMatchObject({ name: 'StorageError', code: 'unreadable' })
    await storeSnapshot(database, snapshotOf(20, rowsNamed('e')))
    expect(plain(await restoreState(database))).toEqual(plain(snapshotOf(20, rowsNamed('e'))))
  })
})

test('a record without its value does not prevent opening, and a snapshot repairs it', async () => {
  const store = await setUp()
  let isLost = true
  const lossy = withSteps(store, {
    immediate: () => {},
    awaited: ({ name, table }) => {
      const isRead = table === 'journal' && (name === 'get' || name === 'values')
      if (isLost && isRead) throw new StorageError('unreadable', 'Lost, on purpose.')
      return undefined
    },
  })
  const database = await open(lossy)
  await expect(restoreState(database)).rejects.toMatchObject({ code: 'unreadable' })
  await storeSnapshot(database, snapshotOf(20, rowsNamed('e')))
  isLost = false
  expect(plain(await restoreState(database))).toEqual(plain(snapshotOf(20, rowsNamed('e'))))
})

describe('invariant 12: another format', () => {
  test.each([
    ['a later one', { format: format + 1, generation: '1.1', base: 10, at: 0 }],
    ['the one before', { format: format - 1, base: 10 }],
  ])('drops the cache and keeps the outbox: %s', async (_, head) => {
    const store = await setUp()
    await behind(store, async (tx) => {
      tx.put('meta', 'head', head)
      tx.put('outbox', '1', { mine: true })
    })
    const database = await open(store)
    expect(await restoreState(database)).toBeUndefined()
    const left = await behind(store, (tx) =>
      Promise.all([tx.keys('meta'), tx.keys('pages'), tx.keys('journal'), tx.values('outbox')]),
    )
    expect(left).toEqual([['fence', 'life'], [], [], [{ mine: true }]])
    await storeSnapshot(database, first)
    expect(plain(await restoreState(database))).toEqual(plain(first))
  })
})

describe.each(Object.entries(stores))('over %s', (_, make) => {
  test('invariant 60: restoring during a checkpoint and a snapshot sees one consistent state', async () => {
    const store = make()
    await setUp(store)
    const old = entries.reduce(appended, first)
    const next = snapshotOf(20, rowsNamed('e', 'f', 'g'), 'y')
    const writing = await open(store)
    const reading = await open(store)
    // The reader is not the one that writes, so the fence is put back to the writer.
    await behind(store, async (tx) => tx.put('meta', 'fence', Number(await tx.get('meta', 'fence')) - 1))
    let done = false
    const changing = (async () => {
      await writing.checkpoint()
      await storeSnapshot(writing, next, 1)
      await writing.append({ since: 20, sid: 21, ops: [] })
      done = true
    })()
    const seen = new Set<number | undefined>()
    while (!done) {
      const state = await restoreState(reading)
      const expected = state?.sid === 14 ? old : state?.sid === 20 ? next : { ...next, sid: 21 }
      expect(plain(state)).toEqual(plain(expected))
      seen.add(state?.sid)
      await settle()
    }
    await changing
    expect(seen.has(14)).toBe(true)
    expect((await restoreState(reading))?.sid).toBe(21)
  })
})

test('a sink that throws ends the restore with its error', async () => {
  const database = await open(await setUp())
  const sink = {
    rows: () => {
      throw new Error('no room')
    },
    ops: () => {},
  }
  await expect(database.restore(sink)).rejects.toThrow('no room')
  expect((await restoreState(database))?.sid).toBe(14)
})

test('a closed database refuses with the code `closed`', async () => {
  const database = await open(await setUp())
  const writer = await database.snapshot()
  database.close()
  const calls = [
    database.restore({ rows: () => {}, ops: () => {} }),
    database.append({ since: 14, sid: 15, ops: [] }),
    database.checkpoint(),
    writer.page({ text: '[]', types: [] }),
    writer.commit({ sid: 20 }),
    writer.abort(),
  ]
  for (const call of calls) await expect(call).rejects.toMatchObject({ name: 'StorageError', code: 'closed' })
})
