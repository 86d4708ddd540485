import { expect, test } from 'vitest'
import { StorageError } from '../../src/base/errors.ts'
import { defineModels, type Transaction } from '../../src/index.ts'
import type { WireRow } from '../../src/protocol/row.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import type { Store, Table } from '../../src/storage/store.ts'
import { faults } from '../support/bare-server-faults.ts'
import { Device, shown } from '../support/device.ts'
import { watching, writesOutbox } from '../support/watching-store.ts'

const anHour = 3_600_000

/** Nothing here is about how often it asks for what is new. */
const pollInterval = 600_000

/** A client that is live, though its disk has refused all but to be opened; the server has one record. */
async function fullDevice(code: 'quota' | 'aborted' = 'quota') {
  const disk = { full: false }
  const store = watching(memoryStore(), ({ tables, mode }) => {
    if (disk.full && mode === 'write' && tables.includes('pages')) throw new StorageError(code, 'No room.')
  })
  const device = new Device({ store })
  device.insert('1')
  const client = device.client({ pollInterval })
  await client.start()
  disk.full = true
  await device.clock.advance(1_000)
  return { device, disk, client }
}

test.each(['quota', 'aborted'] as const)(
  'a first sync that the disk refuses with `%s` is stored an hour later',
  async (code) => {
    const { device, disk, client } = await fullDevice(code)
    expect(client.status.storage.reason).toBe('No room.')
    disk.full = false
    await device.clock.advance(anHour + 1_000)
    expect(client.status.storage.reason).toBeUndefined()
    device.insert('2')
    await device.clock.advance(1_000)
    expect(shown(await device.offline())).toEqual({ 1: {}, 2: {} })
  },
)

test('while there is no room, a snapshot is fetched less and less often', async () => {
  const { device } = await fullDevice()
  const counts: number[] = []
  for (const hours of [2, 4, 16, 64]) {
    await device.clock.advance(hours * anHour)
    counts.push(device.bootstraps)
  }
  expect(counts).toEqual([2, 3, 4, 5])
})

test('data that is stored is not fetched again, whatever failed before', async () => {
  const { device, disk } = await fullDevice()
  disk.full = false
  await device.clock.advance(100 * anHour)
  expect(device.bootstraps).toBe(2)
})

test('a start with a new version of the models shows the stored data if there is no room to migrate', async () => {
  const { device, disk } = await fullDevice()
  disk.full = false
  await device.clock.advance(anHour + 1_000)
  await device.quit()
  device.network.cut()
  disk.full = true
  const row = (old: WireRow) => ({ ...old, p: { ...old.p, isNew: true } })
  const models = defineModels({}, { version: 2, migrate: { 2: { row } } })
  const client = device.client({ models, pollInterval })
  await client.start()
  expect(shown(client)).toEqual({ 1: { isNew: true } })
  expect(client.status.storage.reason).toBe('No room.')
  disk.full = false
  device.network.mend()
  await device.clock.advance(anHour + 1_000)
  expect(client.status.storage.reason).toBeUndefined()
  device.insert('2')
  await device.clock.advance(1_000)
  const again = await device.offline({ models, pollInterval })
  expect(shown(again)).toEqual({ 1: {}, 2: {} })
})

test('a checkpoint without room is dropped with the next snapshot', async () => {
  const { device, disk, client } = await fullDevice()
  disk.full = false
  await device.clock.advance(anHour + 1_000)
  disk.full = true
  for (const id of ['2', '3']) {
    device.insert(id, { text: 'x'.repeat(600_000) })
    await device.clock.advance(5_000)
  }
  expect(client.status.storage.reason).toBe('No room.')
  disk.full = false
  device.server.failNext(faults.gone(), { path: '/delta' })
  await device.clock.until(client.sync())
  expect(client.status.storage.reason).toBeUndefined()
})

test('a client that lost its database to another fetches no snapshot for that', async () => {
  const { device, disk, client } = await fullDevice()
  disk.full = false
  await device.clock.advance(anHour + 1_000)
  await device.live({ pollInterval })
  device.insert('2')
  await device.clock.advance(1_000)
  expect(client.status.role).toBe('follower')
  const before = device.bootstraps
  await device.clock.advance(100 * anHour)
  expect(device.bootstraps).toBe(before)
})

test('a snapshot that loses its room to writes is fetched less and less often', async () => {
  const { device, disk, client } = await fullDevice()
  const counts: number[] = []
  for (const hours of [2, 5, 17, 65]) {
    disk.full = false
    await device.clock.advance(hours * anHour)
    expect(client.status.storage.reason).toBeUndefined()
    counts.push(device.bootstraps)
    disk.full = true
    device.server.failNext(faults.gone(), { path: '/delta' })
    await device.clock.until(client.sync().catch(() => {}))
    expect(client.status.storage.reason).toBe('No room.')
  }
  expect(counts).toEqual([2, 4, 6, 8])
})

test('earlier failures of the disk do not delay the next snapshot', async () => {
  const { device, disk, client } = await fullDevice()
  disk.full = false
  await device.clock.advance(anHour + 1_000)
  disk.full = true
  for (const id of ['2', '3']) {
    device.insert(id, { text: 'x'.repeat(600_000) })
    await device.clock.advance(50 * anHour)
  }
  expect(client.status.storage.reason).toBe('No room.')
  device.server.failNext(faults.gone(), { path: '/delta' })
  await device.clock.until(client.sync().catch(() => {}))
  const before = device.bootstraps
  await device.clock.advance(4 * anHour + 60_000)
  expect(device.bootstraps).toBe(before + 1)
})

test('a write that fits only without pages is not lost while a snapshot is stored', async () => {
  const inner = memoryStore()
  const is = { full: false }
  let writes = 0
  let tx: Transaction | undefined
  // No room for the outbox beside pages, and 1 ms until the page hears that pages are written or gone.
  const store: Store = {
    ...inner,
    open: async (name) => {
      const connection = await inner.open(name)
      return {
        ...connection,
        async transaction(options, body) {
          const isOfPages = options.mode === 'write' && options.tables.includes('pages')
          if (isOfPages) writes += 1
          if (isOfPages && writes === 2) {
            is.full = true
            tx = client.mutate((m) => m.insert('Issue', { id: 'mine' }))
          }
          const limited = is.full && writesOutbox(options)
          const tables: readonly Table[] = limited ? [...options.tables, 'pages'] : options.tables
          const result = await connection.transaction({ ...options, tables }, async (tx) => {
            const keys = limited ? await tx.keys('pages') : []
            if (keys.length > 0) throw new StorageError('quota', 'The disk is full.')
            return body(tx)
          })
          if (is.full && isOfPages) await new Promise<void>((done) => void device.clock.after(1, done))
          return result
        },
      }
    },
  }
  const device = new Device({ store, push: 'none' })
  const text = 'x'.repeat(4_000)
  device.server.write(
    'ada',
    Array.from({ length: 6_000 }, (_, n) => ({ op: 'i', t: 'Issue', id: `${n}`, p: { n, text } }) as const),
  )
  const client = device.client()
  await device.clock.until(client.sync()).catch(() => {})
  await device.clock.until(tx?.durable ?? Promise.reject(new Error('Nothing was written.')))
  expect(client.get('Issue', 'mine')).toBeDefined()
})
