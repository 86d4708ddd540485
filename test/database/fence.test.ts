import { describe, expect, test } from 'vitest'
import type { Database } from '../../src/database/database.ts'
import { FullStore } from '../support/full-store.ts'
import { open, stores } from '../support/store-databases.ts'
import { pageOf, plain, restoreState, rowsNamed, snapshotOf, storeSnapshot } from '../support/store-state.ts'

const first = snapshotOf(10, rowsNamed('a', 'b', 'c'))
const delta = { since: 10, sid: 11, ops: [{ op: 'd', t: 'Issue', id: 'a' }] } as const

describe.each(Object.entries(stores))('over %s', (_, make) => {
  test('invariant 40: whoever opened it before is refused, and has changed nothing', async () => {
    const store = make()
    const former = await open(store)
    await storeSnapshot(former, first)
    await former.append(delta)
    const begun = await former.snapshot()
    await begun.page(pageOf(rowsNamed('x')))

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

  test('of those who open it at once, one can write', async () => {
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

  test('whoever opened it without room can read, and is the one that writes as soon as there is some', async () => {
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
})
