import { expect, test } from 'vitest'
import { StorageError } from '../../src/base/errors.ts'
import type { Transaction } from '../../src/index.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import type { Store, Table, TransactionOptions } from '../../src/storage/store.ts'
import { faults } from '../support/bare-server-faults.ts'
import { Device } from '../support/device.ts'
import { watching, writesOutbox } from '../support/watching-store.ts'
import { fill, sharedStore, WorkerDevice } from '../support/worker-device.ts'

async function pageKeys(store: Store): Promise<readonly string[]> {
  const name = `instep:${JSON.stringify(['https://api.example.com/sync/v1/bootstrap', 'ada'])}`
  const connection = await store.open(name)
  return connection.transaction({ tables: ['pages'], mode: 'read' }, (tx) => tx.keys('pages'))
}

test('where a worker has no store (no IndexedDB in it), the page stores', async () => {
  const device = new WorkerDevice()
  fill(device, 10)
  device.workerStore = {
    ...device.store,
    open: () => Promise.reject(new StorageError('unavailable', 'There is no IndexedDB here.')),
  }
  const client = device.client(device.options)
  await device.clock.until(client.sync()).catch(() => {})
  device.insert('10')
  await device.clock.until(client.sync()).catch(() => {})
  device.server.failNext(faults.gone(), { path: '/delta' })
  await device.clock.until(client.sync()).catch(() => {})
  expect(device.requests.filter((request) => request === 'bootstrap')).toHaveLength(2)
  expect(client.status.storage.reason).toBeUndefined()
  expect([device.warnings.length, device.workers.length]).toEqual([1, 1])
})

test('where a worker gets no answer from its store, as another tab may hold it, the page stores', async () => {
  const device = new WorkerDevice()
  device.workerStore = { ...device.store, open: () => new Promise(() => {}) }
  fill(device, 3_000)
  const client = device.client(device.options)
  expect(await device.clock.until(client.sync())).toMatchObject({ kind: 'bootstrap', changes: 3_000 })
  expect(client.status.storage.reason).toBeUndefined()
  expect((await pageKeys(device.store)).length).toBeGreaterThan(0)
})

test('where a worker reaches another store than the page, the page stores', async () => {
  const device = new WorkerDevice()
  device.workerStore = memoryStore()
  fill(device, 3_000)
  const client = device.client(device.options)
  await device.clock.until(client.sync())
  expect(client.status.storage.reason).toBeUndefined()
  expect(await pageKeys(device.store)).not.toEqual([])
})

test('a worker writes nothing more into a database whose data was given up for a write', async () => {
  const is = { full: false, dropped: false }
  const inner = memoryStore()
  const watched = watching(inner, (options) => {
    if (!is.full || !writesOutbox(options)) return
    is.full = false
    is.dropped = true
    throw new StorageError('quota', 'The disk is full.')
  })
  const device = new WorkerDevice({ store: sharedStore(watched) })
  fill(device, 6_000)
  let writes = 0
  let after = 0
  let tx: ReturnType<typeof client.mutate> | undefined
  device.workerStore = watching(sharedStore(inner), async ({ mode, tables }) => {
    if (mode !== 'write' || !tables.includes('pages')) return
    if (is.dropped) after += 1
    writes += 1
    if (writes !== 2) return
    is.full = true
    tx = client.mutate((m) => m.insert('Issue', { id: 'mine' }))
    await tx.durable
  })
  const client = device.client(device.options)
  await device.clock.until(client.sync()).catch(() => {})
  await device.clock.until(tx?.durable ?? Promise.reject(new Error('Nothing was written.')))
  await device.clock.advance(1_000)
  expect(await pageKeys(inner)).toEqual([])
  // What was on its way is refused, and the worker stores no more.
  expect(after).toBeLessThanOrEqual(2)
})

test('a worker that cannot store a part of a snapshot says so once, and stores no more of it', async () => {
  const device = new WorkerDevice()
  fill(device, 6_000)
  let writes = 0
  let complaints = 0
  device.workerStore = watching(device.store, async ({ mode, tables }) => {
    if (mode !== 'write' || !tables.includes('pages')) return
    writes += 1
    await new Promise<void>((resolve) => void device.clock.after(2_000, resolve))
    throw new StorageError('quota', 'The disk is full.')
  })
  device.edit = (message) => {
    if (message.kind === 'unstored') complaints += 1
    return message
  }
  const client = device.client(device.options)
  await expect(device.clock.until(client.sync())).rejects.toMatchObject({ code: 'quota' })
  // Two were on their way when the first of them failed.
  expect([writes, complaints, client.count('Issue')]).toEqual([2, 1, 6_000])
})

test('into a store that wraps another the page writes by itself, since a worker would pass it by', async () => {
  const inner = sharedStore()
  const puts: string[] = []
  const decorated: Store = {
    ...inner,
    open: async (name) => {
      const connection = await inner.open(name)
      return {
        ...connection,
        transaction: (options, body) =>
          connection.transaction(options, (tx) =>
            body({
              get: (table, key) => tx.get(table, key),
              keys: (table, range) => tx.keys(table, range),
              values: (table, range) => tx.values(table, range),
              delete: (table, key) => tx.delete(table, key),
              add: (table, key, value) => tx.add(table, key, value),
              put: (table, key, value) => {
                puts.push(table)
                tx.put(table, key, value)
              },
            }),
          ),
      }
    },
  }
  const device = new WorkerDevice({ store: decorated })
  device.workerStore = inner
  fill(device, 100)
  await device.clock.until(device.client(device.options).sync())
  expect(puts).toContain('pages')
})

test.each(['page', 'worker'])(
  'a write for which there is room without pages is not lost: %s',
  async (who) => {
    const inner = sharedStore(memoryStore())
    const device = who === 'worker' ? new WorkerDevice({ store: inner }) : new Device({ push: 'none' })
    const is = { full: false }
    let writes = 0
    let tx: Transaction | undefined
    const isOfPages = ({ mode, tables }: TransactionOptions) => mode === 'write' && tables.includes('pages')
    const beforeWrite = (options: TransactionOptions) => {
      if (!isOfPages(options)) return
      writes += 1
      if (writes !== 2) return
      is.full = true
      tx = client.mutate((m) => m.insert('Issue', { id: 'mine' }))
    }
    // The page's connection: no room for the outbox beside pages, and 1 ms until it hears that pages are written or gone.
    const store: Store = {
      ...inner,
      open: async (name) => {
        const connection = await inner.open(name)
        return {
          ...connection,
          async transaction(options, body) {
            if (who === 'page') beforeWrite(options)
            const limited = is.full && writesOutbox(options)
            const tables: readonly Table[] = limited ? [...options.tables, 'pages'] : options.tables
            const result = await connection.transaction({ ...options, tables }, async (tx) => {
              const keys = limited ? await tx.keys('pages') : []
              if (keys.length > 0) throw new StorageError('quota', 'The disk is full.')
              return body(tx)
            })
            if (is.full && isOfPages(options))
              await new Promise<void>((done) => void device.clock.after(1, done))
            return result
          },
        }
      },
    }
    if (device instanceof WorkerDevice) device.workerStore = watching(inner, beforeWrite)
    fill(device, 6_000)
    const client = device.client({
      ...(device instanceof WorkerDevice ? device.options : {}),
      store: sharedStore(store),
    })
    await device.clock.until(client.sync()).catch(() => {})
    await device.clock.until(tx?.durable ?? Promise.reject(new Error('Nothing was written.')))
    expect(client.get('Issue', 'mine')).toBeDefined()
  },
)
