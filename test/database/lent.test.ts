import { describe, expect, test } from 'vitest'
import { FencedConnection } from '../../src/database/fence.ts'
import { pageKey } from '../../src/database/format.ts'
import { openDatabase } from '../../src/database/open.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { VirtualClock } from '../support/virtual-clock.ts'
import { sharedStore } from '../support/worker-device.ts'

const clock = new VirtualClock()

describe('a place that was lent takes pages', () => {
  const lent = async () => {
    const store = sharedStore()
    const database = await openDatabase({ store, name: 'lent', clock })
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
