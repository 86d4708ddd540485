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

const ids = (entries: Iterable<{ readonly id: string }>) => [...entries].map(({ id }) => id)

describe.each(Object.entries(stores))('the outbox on %s', (_, makeStore) => {
  test('invariant 27: returns what was put, in the order in which it was stored, even after reopening', async () => {
    const store = makeStore()
    const database = await open(store)
    await database.outbox.write({ put: [record('3'), record('2')] })
    const { stored, refused } = await database.outbox.write({ put: [record('1')] })
    expect([ids(stored.values()), refused.size]).toEqual([['1'], 0])
    database.close()
    const { records, unreadable } = await (await open(store)).outbox.read()
    expect(records).toMatchObject([record('3'), record('2'), record('1')])
    expect(unreadable).toEqual([])
  })

  test('invariant 68: a transaction comes after those of another client that were stored unheard', async () => {
    const store = makeStore()
    const [one, other] = [(await open(store)).outbox, (await open(store)).outbox]
    const { last } = await one.read()
    const put = (outbox: typeof one, id: string) =>
      outbox.write({ put: [record(id)], after: last, hears: true })
    await put(other, '9')
    await put(one, '8')
    expect(ids((await one.read()).records)).toEqual(['9', '8'])
  })

  test('invariant 68: a transaction comes after those that are stored, even if earlier ones have ended', async () => {
    const store = makeStore()
    const [one, other] = [(await open(store)).outbox, (await open(store)).outbox]
    const { last } = await one.read()
    const { stored } = await other.write({ put: [record('7'), record('8')] })
    await other.write({ end: [{ id: '7', key: stored.get('7')?.key, state: 'cancelled' }] })
    await one.write({ put: [record('1')], after: last, hears: true })
    expect(ids((await one.read()).records)).toEqual(['8', '1'])
  })

  test('what could not be stored when it was made keeps its place', async () => {
    const { outbox } = await open(makeStore())
    await outbox.write({ put: [record('1')] })
    const { last } = await outbox.read()
    await outbox.write({ put: [record('3')] })
    await outbox.write({ keep: [record('2', { key: `${last}/2` })] })
    expect(ids((await outbox.read()).records)).toEqual(['1', '2', '3'])
    await outbox.write({ put: [record('4')] })
    expect(ids((await outbox.read()).records)).toEqual(['1', '2', '3', '4'])
  })

  test('what a database has lost is stored again beside what is there by now', async () => {
    const { outbox } = await open(makeStore())
    await outbox.write({ put: [record('1')] })
    const { last } = await outbox.read()
    await outbox.write({ keep: [record('2', { key: last })] })
    expect(ids((await outbox.read()).records)).toEqual(['1', '2'])
  })

  test('keeps a transaction unless another client has discarded or sent it, and says so', async () => {
    const { outbox } = await open(makeStore())
    await outbox.write({ put: [record('1'), record('2', { state: 'sending' })] })
    await outbox.write({ end: [{ id: '1', state: 'discarded' }] })
    const { stored, refused } = await outbox.write({ keep: ['1', '2', '3'].map((id) => record(id)) })
    expect(ids(stored.values())).toEqual(['3'])
    expect([...refused.values()].map((entry) => entry?.state)).toEqual(['discarded', 'sending'])
    expect((await outbox.read()).records).toMatchObject([record('2', { state: 'sending' }), record('3')])
    const sent = await outbox.write({ send: [record('1', { state: 'sending' })] })
    expect(sent.refused.get('1')?.state).toBe('discarded')
  })

  test('stores no retry of what another client has retried, if it is written again', async () => {
    const { outbox } = await open(makeStore())
    await outbox.write({ put: [record('1', { state: 'rejected' })] })
    const retry = (id: string) => ({
      put: [record(id)],
      end: [{ id: '1', state: 'discarded', by: id } as const],
    })
    await outbox.write(retry('theirs'))
    expect([...(await outbox.write(retry('mine'), true)).refused.keys()]).toEqual(['1'])
    expect(ids((await outbox.read()).records)).toEqual(['theirs'])
  })

  test('cancels only what is queued, and says what else is stored', async () => {
    const { outbox } = await open(makeStore())
    await outbox.write({ put: [record('1'), record('2', { state: 'sending' })] })
    const end = ['1', '2', '3'].map((id) => ({ id, state: 'cancelled' }) as const)
    const { refused } = await outbox.write({ end })
    expect([...refused].map(([id, entry]) => [id, entry?.state])).toEqual([
      ['2', 'sending'],
      ['3', undefined],
    ])
    expect(await outbox.read()).toMatchObject({
      records: [record('2', { state: 'sending' })],
      ends: [end[0]],
    })
  })

  test('does not replace a transaction that another client discarded, and says so', async () => {
    const { outbox } = await open(makeStore())
    await outbox.write({ put: [record('1'), record('3')] })
    await outbox.write({ put: [record('4')], end: [{ id: '1', state: 'discarded', by: '4' }] })
    const late = { put: [record('5')], end: [{ id: '1', state: 'discarded', by: '5' }] } as const
    expect((await outbox.write(late)).refused.get('1')).toMatchObject({ by: '4' })
    expect(ids((await outbox.read()).records)).toEqual(['3', '4'])
  })

  test('a write that is repeated finds what it has stored', async () => {
    const { outbox } = await open(makeStore())
    await outbox.write({ put: [record('1')] })
    const change = { put: [record('2')], end: [{ id: '1', state: 'discarded', by: '2' }] } as const
    for (const isAgain of [false, true]) expect((await outbox.write(change, isAgain)).refused.size).toBe(0)
    await outbox.write({ put: [record('3')] })
    const put = { put: [record('4')] }
    for (const isAgain of [true, true]) await outbox.write(put, isAgain)
    expect(ids((await outbox.read()).records)).toEqual(['2', '3', '4'])
  })

  test('restores cancelled transactions in their places, and leaves others and synced ones unchanged', async () => {
    const { outbox } = await open(makeStore())
    const sent = record('3', { state: 'sending' })
    await outbox.write({ put: [record('1'), record('2'), sent, record('4')] })
    await outbox.write({
      end: [
        { id: '1', state: 'cancelled' },
        { id: '2', state: 'discarded' },
        { id: '4', state: 'synced' },
      ],
    })
    const { stored } = await outbox.write({ restore: ['1', '2', '3', '4', '5'].map((id) => record(id)) })
    expect(ids(stored.values())).toEqual(['1', '2'])
    expect((await outbox.read()).records).toMatchObject([record('1'), record('2'), sent])
  })

  test('reads what was stored after a key', async () => {
    const { outbox } = await open(makeStore())
    await outbox.write({ put: [record('1')] })
    const { last } = await outbox.read()
    await outbox.write({ put: [record('2'), record('3')] })
    expect(ids((await outbox.read(last)).records)).toEqual(['2', '3'])
  })

  test('keeps the last 1 000 ends', async () => {
    const { outbox } = await open(makeStore())
    const all = Array.from({ length: 2_001 }, (_, n) => `${n}`)
    const { stored } = await outbox.write({ put: [record('x'), ...all.map((id) => record(id))] })
    await outbox.write({ end: all.map((id) => ({ id, key: stored.get(id)?.key, state: 'synced' })) })
    expect((await outbox.read()).ends).toHaveLength(2_001)
    await outbox.write({})
    const { records, ends } = await outbox.read()
    expect([ids(records), ids(ends)]).toEqual([['x'], all.slice(-1_000)])
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
    expect(read.records).toMatchObject([record('1')])
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
  await outbox.write({ end: [{ id: '1', state: 'synced' }] })
  expect(asked).toEqual(['strict', 'relaxed'])
})
