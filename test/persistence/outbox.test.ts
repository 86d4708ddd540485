import { describe, expect, test } from 'vitest'
import type { OutboxRecord } from '../../src/persistence/outbox.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import type { Store, StoreConnection, StoreValue } from '../../src/storage/store.ts'
import { behind, open, stores } from '../support/store-databases.ts'
import { snapshotOf, storeSnapshot } from '../support/store-state.ts'

const record = (id: string, change: Partial<OutboxRecord> = {}): OutboxRecord => ({
  id,
  state: 'queued',
  at: 5,
  since: 3,
  ops: [{ op: 'u', t: 'Note', id: '1', p: { title: 'Milk' } }],
  before: [
    { t: 'Note', id: '1', p: { title: '' } },
    { t: 'Note', id: '2', p: null },
  ],
  bases: ['0'],
  requires: [],
  version: 1,
  label: 'Rename',
  ...change,
})

const damaged: { readonly [what: string]: StoreValue } = {
  'no text': 5,
  'an object': { id: 'x' },
  'no JSON': '{"id":',
  'a list': '[]',
  'an unknown state': JSON.stringify({ ...record('x'), state: 'lost' }),
  'accepted without a sid': JSON.stringify(record('x', { state: 'accepted' })),
  'no time': JSON.stringify({ ...record('x'), at: 'today' }),
  'no position': JSON.stringify({ ...record('x'), since: 'x' }),
  'no ops': JSON.stringify({ ...record('x'), ops: {} }),
  'an op that is none': JSON.stringify({ ...record('x'), ops: [{ op: 'u', t: 'Note', id: '1' }] }),
  'a type of __proto__': JSON.stringify({ ...record('x'), ops: [{ op: 'd', t: '__proto__', id: '1' }] }),
  'an image that is none': JSON.stringify({ ...record('x'), before: [null] }),
  'an image without a payload': JSON.stringify({ ...record('x'), before: [{ t: 'Note', id: '1' }] }),
  'an image of no type': JSON.stringify({ ...record('x'), before: [{ t: 5, id: '1', p: null }] }),
  'an image of no record': JSON.stringify({ ...record('x'), before: [{ t: 'Note', id: 5, p: null }] }),
  'no list of bases': JSON.stringify({ ...record('x'), bases: 'x' }),
  'no list of requirements': JSON.stringify({ ...record('x'), requires: [5] }),
  'no version': JSON.stringify({ ...record('x'), version: undefined }),
}

describe.each(Object.entries(stores))('the outbox on %s', (_, makeStore) => {
  test('returns what was put, in the order of the ids, even after reopening', async () => {
    const store = makeStore()
    const database = await open(store)
    const rejected = record('2', { state: 'rejected', error: { code: 'conflict', message: 'No.' } })
    expect(await database.outbox.write({ put: [record('3'), rejected, record('1')] })).toEqual([])
    await database.outbox.write({ put: [record('3', { state: 'accepted', sid: 9 })], remove: ['1', 'none'] })
    database.close()
    const { records, unreadable } = await (await open(store)).outbox.read()
    expect(records).toEqual([rejected, record('3', { state: 'accepted', sid: 9 })])
    expect(unreadable).toEqual([])
  })

  test('reads a transaction that an older version stored with the shapes in which it was sent', async () => {
    const store = makeStore()
    const { outbox } = await open(store)
    const older = { ...record('1', { state: 'sending' }), shapes: [record('1').ops] }
    await outbox.write({ put: [older] })
    const { records, unreadable } = await outbox.read()
    expect(records).toMatchObject([record('1', { state: 'sending' })])
    expect(unreadable).toEqual([])
  })

  test('keeps a transaction unless another client discarded it, and reports that', async () => {
    const { outbox } = await open(makeStore())
    await outbox.write({ put: [record('1'), record('2', { state: 'sending' })] })
    expect(await outbox.write({ discard: ['1'] })).toEqual([])
    expect(await outbox.write({ keep: ['1', '2', '3'].map((id) => record(id)) })).toEqual(['1'])
    expect((await outbox.read()).records).toEqual([record('2'), record('3')])
    expect(await outbox.write({ send: [record('1', { state: 'sending' })] })).toEqual(['1'])
  })

  test('does not replace a transaction that another client discarded, and reports that', async () => {
    const { outbox } = await open(makeStore())
    await outbox.write({ put: [record('1'), record('2'), record('3')] })
    await outbox.write({ put: [record('4')], by: '4', discard: ['1'] })
    const late = { put: [record('5')], by: '5', cancel: ['2'], discard: ['1', '3'] }
    expect(await outbox.write(late)).toEqual(['1'])
    expect((await outbox.read()).records.map(({ id }) => id)).toEqual(['2', '3', '4'])
    expect(await outbox.write({ cancel: ['5'] })).toEqual([])
    expect(await outbox.write({ keep: [record('5')] })).toEqual(['5'])
  })

  test('replaces both a replacement and the original', async () => {
    const { outbox } = await open(makeStore())
    await outbox.write({ put: [record('1')] })
    // It was stored, and its end not heard of.
    await outbox.write({ put: [record('2')], by: '2', discard: ['1'] })
    const change = { put: [record('3')], by: '3', cancel: ['2'], discard: ['1'] }
    expect(await outbox.write(change)).toEqual([])
    expect((await outbox.read()).records).toEqual([record('3')])
    expect(await outbox.write({ ...change, put: [], discard: ['2', '1'] })).toEqual([])
  })

  test('restores cancelled transactions, and leaves others and removed ones unchanged', async () => {
    const { outbox } = await open(makeStore())
    const sent = record('3', { state: 'sending' })
    await outbox.write({ put: [record('1'), record('2'), sent] })
    await outbox.write({ cancel: ['1'], discard: ['2'] })
    expect(await outbox.write({ restore: ['1', '2', '3', '4'].map((id) => record(id)) })).toEqual(['1', '2'])
    expect((await outbox.read()).records).toEqual([record('1'), record('2'), sent])
    await outbox.write({ remove: ['1'] })
    expect((await outbox.readOthers(() => true)).gone).toEqual([])
  })

  test('reads transactions that the caller does not know', async () => {
    const { outbox } = await open(makeStore())
    await outbox.write({ put: [record('1'), record('2'), record('3')] })
    await outbox.write({ discard: ['3'] })
    expect(await outbox.readOthers((id) => id === '1')).toEqual({
      records: [record('2')],
      ids: new Set(['1', '2']),
      gone: ['3'],
    })
  })

  test('invariant 35: an unreadable transaction is returned as it is stored, and kept', async () => {
    const store = makeStore()
    const { outbox } = await open(store)
    await outbox.write({ put: [record('1')] })
    // Each says the key that it has.
    const values = Object.values(damaged).map((value, n) =>
      typeof value === 'string' ? value.replace('"id":"x"', `"id":"x${n}"`) : value,
    )
    await behind(store, async (tx) => {
      for (const [n, value] of values.entries()) tx.put('outbox', `x${n}`, value)
    })
    const read = await outbox.read()
    expect(read.records).toEqual([record('1')])
    expect(read.unreadable.map(String).sort()).toEqual(values.map(String).sort())
    expect(await behind(store, (tx) => tx.keys('outbox'))).toHaveLength(1 + Object.keys(damaged).length)
  })

  test('survives a drop of the data, and reopening', async () => {
    const store = makeStore()
    const first = await open(store)
    await storeSnapshot(first, snapshotOf(3, []))
    await first.outbox.write({ put: [record('1')] })
    await first.drop()
    const second = await open(store)
    // What its user did is added, though it is no longer the one that writes the data.
    await first.outbox.write({ put: [record('2')] })
    expect((await second.outbox.read()).records.map(({ id }) => id)).toEqual(['1', '2'])
    expect(await second.restore({ rows: () => {}, ops: () => {} })).toBeUndefined()
  })
})

test('invariant 18: a transaction is flushed to disk; what only tells what became of it is not', async () => {
  const asked: unknown[] = []
  const inner = memoryStore()
  const watching = (connection: StoreConnection): StoreConnection => ({
    ...connection,
    transaction: (options, body) => {
      if (options.tables.includes('outbox') && options.mode === 'write') asked.push(options.durability)
      return connection.transaction(options, body)
    },
  })
  const store: Store = { ...inner, open: async (name) => watching(await inner.open(name)) }
  const { outbox } = await open(store)
  await outbox.write({ put: [record('1')] })
  await outbox.write({ remove: ['1'] })
  expect(asked).toEqual(['strict', 'relaxed'])
})
