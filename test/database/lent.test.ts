import { describe, expect, test } from 'vitest'
import type { Database } from '../../src/database/database.ts'
import { FencedConnection } from '../../src/database/fence.ts'
import { pageKey } from '../../src/database/format.ts'
import { openDatabase } from '../../src/database/open.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { restoreState, snapshotOf, storeSnapshot } from '../support/store-state.ts'
import { VirtualClock } from '../support/virtual-clock.ts'
import { sharedStore } from '../support/worker-device.ts'

const clock = new VirtualClock()

describe('a place that was lent takes pages', () => {
  const lent = async () => {
    const store = sharedStore()
    const database = await openDatabase({ store, name: 'lent', clock })
    await storeSnapshot(database, snapshotOf(0, []))
    await database.append({ since: 0, sid: 1, ops: [] })
    const writer = await database.snapshot()
    const place = await writer.lend()
    if (!place) throw new Error('Nothing was lent.')
    const other = FencedConnection.join(await store.open(place.name), place)
    const write = () =>
      other.write(['pages'], async (tx) => tx.put('pages', pageKey(place.generation, 0), '[]'))
    await write()
    return { store, database, writer, place, write }
  }
  const refused = { name: 'StorageError', code: 'aborted' }

  test('until the snapshot is given up', async () => {
    const { writer, write } = await lent()
    await writer.abort()
    await expect(write()).rejects.toMatchObject(refused)
  })

  test('until the snapshot is there', async () => {
    const { writer, place, write } = await lent()
    const elsewhere = { key: pageKey(place.generation, 0), stored: Promise.resolve() }
    await writer.page({ text: '[]', types: [], elsewhere })
    await writer.commit({ sid: 1 })
    await expect(write()).rejects.toMatchObject(refused)
  })

  test('until all is dropped, and nothing is lent after that', async () => {
    const { database, writer, write } = await lent()
    await database.drop()
    await expect(write()).rejects.toMatchObject(refused)
    await expect(writer.lend()).rejects.toMatchObject(refused)
  })

  test.each<readonly [string, (database: Database) => Promise<unknown>]>([
    ['another snapshot was given up', async (database) => (await database.snapshot()).abort()],
    ['a checkpoint was made', (database) => database.checkpoint()],
    ['a checkpoint was given up', (database) => database.checkpoint(AbortSignal.abort())],
  ])('and keeps them, also where %s meanwhile', async (_, change) => {
    const { database, writer, place, write } = await lent()
    await change(database)
    await write()
    const elsewhere = { key: pageKey(place.generation, 0), stored: Promise.resolve() }
    await writer.page({ text: '[]', types: [['Issue', 0]], elsewhere })
    await writer.commit({ sid: 2 })
    expect((await restoreState(database))?.sid).toBe(2)
  })

  test('until somebody else opens the database', async () => {
    const { store, write } = await lent()
    await openDatabase({ store, name: 'lent', clock })
    await expect(write()).rejects.toMatchObject({ name: 'StorageError', code: 'fenced' })
  })
})

test('nothing is lent of a store that another thread cannot open', async () => {
  const database = await openDatabase({ store: memoryStore(), name: 'lent', clock })
  const writer = await database.snapshot()
  expect(await writer.lend()).toBeUndefined()
})
