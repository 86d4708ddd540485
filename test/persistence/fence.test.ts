import { describe, expect, test, vi } from 'vitest'
import { StorageError } from '../../src/base/errors.ts'
import { journalKey } from '../../src/persistence/format.ts'
import { nextKey, type OutboxRecord } from '../../src/persistence/outbox.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import type { Store } from '../../src/storage/store.ts'
import type { Database } from '../support/database.ts'
import { behind, open, stores } from '../support/store-databases.ts'
import { pageOf, plain, restoreState, rowsNamed, snapshotOf, storeSnapshot } from '../support/store-state.ts'
import { FullStore } from '../support/store-steps.ts'

const first = snapshotOf(10, rowsNamed('a', 'b', 'c'))
const queued: OutboxRecord = {
  id: 'x',
  state: 'queued',
  at: 5,
  since: 3,
  ops: [],
  before: [],
  bases: [],
  requires: [],
  version: 1,
}
const end = { id: 'x', key: nextKey(''), state: 'synced' } as const
const delta = { since: 10, sid: 11, ops: [{ op: 'd', t: 'Issue', id: 'a' }] } as const

describe.each(Object.entries(stores))('over %s', (_, make) => {
  test('invariant 40: an earlier writer is refused, and changes nothing', async () => {
    const store = make()
    const former = await open(store)
    await storeSnapshot(former, first)
    const begun = await former.snapshot()
    await begun.page(pageOf(rowsNamed('x')))
    await former.append(delta)

    const present = await open(store)
    const calls: readonly ((database: Database) => Promise<unknown>)[] = [
      (database) => database.append({ since: 11, sid: 12, ops: [] }),
      (database) => database.append({ since: 3, sid: 4, ops: [] }),
      (database) => database.checkpoint(),
      () => begun.page(pageOf(rowsNamed('y'))),
      () => begun.commit({ sid: 20 }),
      () => begun.abort(),
      (database) => storeSnapshot(database, snapshotOf(30, [])),
    ]
    for (const call of calls) {
      await expect(call(former)).rejects.toMatchObject({ name: 'StorageError', code: 'fenced' })
    }
    const expected = plain(snapshotOf(11, rowsNamed('b', 'c')))
    expect(plain(await restoreState(former))).toEqual(expected)
    expect(plain(await restoreState(present))).toEqual(expected)
    await present.append({ since: 11, sid: 12, ops: [] })
  })

  test.each<[string, (database: Database) => Promise<unknown>]>([
    ['a restart', (database) => restoreState(database)],
    ['an append', (database) => database.append({ since: 11, sid: 12, ops: [] })],
    ['a checkpoint', (database) => database.checkpoint()],
    ['a snapshot', (database) => storeSnapshot(database, snapshotOf(11, []))],
    ['all was dropped', (database) => database.drop()],
    [
      'a snapshot after a drop',
      async (database) => {
        await database.drop()
        await storeSnapshot(database, snapshotOf(11, []))
      },
    ],
  ])(
    'invariant 40: an append that reads only the fence is refused, too, even after %s',
    async (_, change) => {
      const store = make()
      const former = await open(store)
      await storeSnapshot(former, first)
      await former.append(delta)
      await open(store)
      const present = await open(store)
      await change(present)
      const expected = plain(await restoreState(present))
      const late = former.append({ since: 11, sid: 12, ops: [{ op: 'd', t: 'Issue', id: 'b' }] })
      await expect(late).rejects.toMatchObject({ name: 'StorageError', code: 'fenced' })
      expect(plain(await restoreState(await open(store)))).toEqual(expected)
    },
  )

  test('invariant 40: a transaction stays in the outbox if the delta that contains it is refused', async () => {
    const store = make()
    const former = await open(store)
    await storeSnapshot(former, first)
    await former.append(delta)
    await former.outbox.write({ put: [queued] })
    const present = await open(store)
    await expect(former.append({ since: 11, sid: 12, ops: [], ends: [end] })).rejects.toThrow()
    expect((await present.outbox.read()).records).toMatchObject([queued])
    await present.append({ since: 11, sid: 12, ops: [], ends: [end] })
    expect(await present.outbox.read()).toMatchObject({ records: [], ends: [end] })
  })

  test('invariant 40: a writer whose journal was cut is refused, too', async () => {
    const store = make()
    const former = await open(store)
    await storeSnapshot(former, first)
    await former.append(delta)
    await former.append({ since: 11, sid: 12, ops: [] })
    await former.append({ since: 12, sid: 13, ops: [] })
    await behind(store, async (tx) => tx.put('journal', journalKey(journalKey()), null))
    const present = await open(store)
    expect((await restoreState(present))?.sid).toBe(11)
    await present.append({ since: 11, sid: 14, ops: [] })
    const late = former.append({ since: 13, sid: 14, ops: [] })
    await expect(late).rejects.toMatchObject({ code: 'fenced' })
    expect((await restoreState(await open(store)))?.sid).toBe(14)
  })

  test('invariant 40: a writer whose last record is unreadable is refused, too', async () => {
    const store = make()
    const former = await open(store)
    await storeSnapshot(former, first)
    await former.append(delta)
    await behind(store, async (tx) => tx.put('journal', journalKey(), null))
    expect((await restoreState(await open(store)))?.sid).toBe(10)
    const late = former.append({ since: 11, sid: 12, ops: [] })
    await expect(late).rejects.toMatchObject({ code: 'fenced' })
  })

  test('a refused writer gets a message for its user, for every kind of write', async () => {
    const store = make()
    const former = await open(store)
    await storeSnapshot(former, first)
    await former.append(delta)
    await open(store)
    const message = 'Another client stores the data.'
    await expect(former.append({ since: 11, sid: 12, ops: [] })).rejects.toMatchObject({ message })
    await expect(storeSnapshot(former, first)).rejects.toMatchObject({ message })
  })

  test('of several clients that open it at once, one can write', async () => {
    const store = make()
    await storeSnapshot(await open(store), first)
    const all = await Promise.all([1, 2, 3, 4].map(() => open(store)))
    const outcomes = await Promise.allSettled(all.map((database) => database.append(delta)))
    expect(outcomes.map(({ status }) => status).sort()).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
      'rejected',
    ])
  })

  test('a client that drops all data to make room becomes the writer', async () => {
    const disk = new FullStore(make())
    const former = await open(disk.store)
    await storeSnapshot(former, first)
    await former.append(delta)
    disk.full = true
    const present = await open(disk.store)
    await present.drop()
    await expect(former.append({ since: 11, sid: 12, ops: [] })).rejects.toMatchObject({ code: 'fenced' })
    expect(await restoreState(await open(disk.store))).toBeUndefined()
  })

  test('a client that opens it without room can read, and writes as soon as there is room', async () => {
    const disk = new FullStore(make())
    const former = await open(disk.store)
    await storeSnapshot(former, first)
    disk.full = true
    const present = await open(disk.store)
    expect(plain(await restoreState(present))).toEqual(plain(first))
    await expect(present.append(delta)).rejects.toMatchObject({ name: 'StorageError', code: 'quota' })
    await expect(present.snapshot()).rejects.toMatchObject({ code: 'quota' })
    disk.full = false
    await Promise.all([present.append(delta), present.checkpoint()])
    await storeSnapshot(present, snapshotOf(12, rowsNamed('d')))
    await expect(former.append({ since: 12, sid: 13, ops: [] })).rejects.toMatchObject({ code: 'fenced' })
    expect(plain(await restoreState(present))).toEqual(plain(snapshotOf(12, rowsNamed('d'))))
  })

  test('clients that open it without room fold the journal, one after another', async () => {
    const disk = new FullStore(make())
    const former = await open(disk.store)
    await storeSnapshot(former, first)
    await former.append(delta)
    for (const [since, id] of [
      [11, 'b'],
      [12, 'c'],
    ] satisfies [number, string][]) {
      disk.full = true
      const present = await open(disk.store)
      disk.full = false
      expect((await restoreState(present))?.sid).toBe(since)
      expect(await present.checkpoint()).toBe(true)
      await present.append({ since, sid: since + 1, ops: [{ op: 'd', t: 'Issue', id }] })
    }
    expect(plain(await restoreState(await open(disk.store)))).toEqual(plain(snapshotOf(13, [])))
  })
})

test('a database that cannot be opened is closed again, so that it blocks nobody', async () => {
  const store = memoryStore()
  const close = vi.fn()
  const failing: Store = {
    ...store,
    open: async (name) => ({
      ...(await store.open(name)),
      transaction: () => Promise.reject(new StorageError('aborted', 'on purpose')),
      close,
    }),
  }
  await expect(open(failing)).rejects.toThrow('on purpose')
  expect(close).toHaveBeenCalledOnce()
})
