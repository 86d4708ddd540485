import { deleteDatabase, indexedDbStore, listDatabases, memoryStore, StorageError, type Store } from 'instep'
import { describe, expect, test } from 'vitest'
import type { StoreValue, Table } from '../../src/storage/store.ts'
import { ClosableStore } from '../support/closable-store.ts'
import { perOrigin } from '../support/per-origin.ts'
import { fakeIndexedDb } from '../support/store-fake-indexeddb.ts'
import { around, writesOutbox } from '../support/watching-store.ts'
import { browser, idsIn, type Tab } from './browser.ts'

const insert = (id: string) => (m: { insert(t: string, record: { readonly id: string }): unknown }) =>
  m.insert('Item', { id })

/** A browser that can evict all that the origin has stored, while every page is frozen. */
async function evictable({ isDeleted = true } = {}) {
  let inner = memoryStore()
  const store: Store = {
    kind: 'durable',
    shared: perOrigin,
    open: (name) => inner.open(name),
    destroy: async (name) => {
      if (!isDeleted) throw new Error('It is blocked.')
      await inner.destroy(name)
    },
  }
  const world = await browser({ store })
  const { server, device } = world
  return {
    ...world,
    evict: () => {
      inner = memoryStore()
    },
    /** A tab writes `id` offline, and is frozen. */
    async writeAndLeave(tab: Tab, id: string) {
      device.disconnect()
      const written = tab.client.mutate(insert(id))
      await server.clock.until(written.durable)
      tab.leave()
      return written
    },
    ids: async () => (await server.rows('ada')).map(({ id }) => id).sort(),
  }
}

describe('a frozen tab whose site data is evicted', () => {
  async function evicted() {
    const world = await evictable()
    const { server, device, open, evict, writeAndLeave } = world
    const tab = await open()
    const written = await writeAndLeave(tab, 'i1')
    evict()
    await tab.comeBack()
    await server.clock.advance(1_000)
    return { ...world, tab, written, device }
  }

  test('invariant 32: still shows its unsent write, and stores it again', async () => {
    const { server, tab, written, stored } = await evicted()
    expect(tab.client.status.lifecycle).toBe('running')
    expect(idsIn(tab)).toEqual(['i0', 'i1'])
    expect(written.state).toBe('queued')
    expect((await tab.client.outbox.export()).transactions.map(({ id }) => id)).toEqual([written.id])
    await server.clock.advance(60_000)
    tab.kill()
    expect(await stored()).toEqual(['i1'])
  })

  test('invariant 32: sends its unsent write', async () => {
    const { server, device, written, ids } = await evicted()
    device.reconnect()
    await server.clock.advance(60_000)
    expect(written.state).toBe('synced')
    expect(await ids()).toEqual(['i0', 'i1'])
    await server.close()
  })

  test('says in `status.storage.lost` how many unsynced transactions were evicted', async () => {
    const { server, tab } = await evicted()
    expect(tab.client.status.storage).toMatchObject({ kind: 'durable', lost: 1 })
    await server.close()
  })
})

test.each(['a frozen tab comes back', 'a fresh tab opens'] as const)(
  'invariant 32: three frozen tabs whose site data is evicted send each write once (%s first)',
  async (first) => {
    const { server, device, open, evict, writeAndLeave, ids } = await evictable()
    const tabs = [await open(), await open(), await open()]
    device.disconnect()
    await server.settle()
    const written = []
    for (const [n, tab] of tabs.entries()) written.push(await writeAndLeave(tab, `i${n + 1}`))
    evict()
    const fresh = first === 'a fresh tab opens' ? [await open()] : []
    for (const tab of tabs) {
      await tab.comeBack()
      await server.clock.advance(1_000)
    }
    device.reconnect()
    await server.clock.advance(60_000)
    expect(written.map(({ state }) => state)).toEqual(['synced', 'synced', 'synced'])
    expect(await ids()).toEqual(['i0', 'i1', 'i2', 'i3'])
    for (const tab of [...tabs, ...fresh]) expect(idsIn(tab)).toEqual(['i0', 'i1', 'i2', 'i3'])
    await server.close()
  },
)

test('a tab whose site data is evicted while it is frozen learns that its write was refused meanwhile', async () => {
  const evictable = new ClosableStore()
  let isDeaf = false
  const {
    server,
    device,
    open,
    front,
    insert: insertElsewhere,
  } = await browser({
    store: { ...evictable.store, kind: 'durable', shared: perOrigin },
    carry: (deliver) => isDeaf || deliver(),
  })
  const [other, tab] = [await open(), await open({ visible: false })]
  device.disconnect()
  await insertElsewhere('i1')
  const written = tab.client.mutate(insert('i1'))
  await server.clock.until(written.durable)
  await tab.client.stop()
  tab.leave()
  isDeaf = true
  evictable.close('nothing')
  device.reconnect()
  await server.clock.advance(60_000)
  expect(other.client.outbox.get(written.id)?.state).toBe('rejected')
  isDeaf = false
  await tab.comeBack()
  tab.client.mutate(insert('i2'))
  await front(other)
  tab.lifecycle.set({ visible: false })
  await tab.client.start()
  await server.clock.advance(60_000)
  expect(written.state).toBe('rejected')
  expect(tab.client.status.writes).toEqual({ pending: 0, rejected: 1 })
  await server.close()
})

describe.each([true, false])('after a sign-out (database deleted: %s)', (isDeleted) => {
  test.each(['its data is as the sign-out left it', 'the user has signed in again'] as const)(
    'invariant 72: a frozen tab ends and sends nothing if %s',
    async (then) => {
      const { server, device, open, writeAndLeave, ids } = await evictable({ isDeleted })
      const tab = await open()
      await writeAndLeave(tab, 'i1')
      await server.clock.until((await open()).client.logout({ pending: 'discard' }))
      if (then === 'the user has signed in again') await open()
      device.reconnect()
      await tab.comeBack()
      await server.clock.advance(60_000)
      expect(tab.client.status.lifecycle).toBe('signed-out')
      expect(idsIn(tab)).toEqual([])
      expect(await ids()).toEqual(['i0'])
      await server.close()
    },
  )

  test('invariant 72: a frozen tab ends and sends nothing if its site data was evicted before', async () => {
    const { server, device, open, evict, writeAndLeave, ids } = await evictable({ isDeleted })
    const tab = await open()
    await writeAndLeave(tab, 'i1')
    evict()
    await server.clock.until((await open()).client.logout({ pending: 'discard' }))
    device.reconnect()
    await tab.comeBack()
    await server.clock.advance(60_000)
    expect(tab.client.status.lifecycle).toBe('signed-out')
    expect(await ids()).toEqual(['i0'])
    await server.close()
  })

  test('invariant 32: a tab of the next session that is frozen and evicted sends its write', async () => {
    const { server, device, open, evict, writeAndLeave, ids } = await evictable({ isDeleted })
    await server.clock.until((await open()).client.logout())
    const tab = await open()
    await writeAndLeave(tab, 'i1')
    evict()
    device.reconnect()
    await tab.comeBack()
    await server.clock.advance(60_000)
    expect(await ids()).toEqual(['i0', 'i1'])
    await server.close()
  })
})

test('`deleteDatabase` ends a frozen tab, which sends nothing', async () => {
  const indexedDB = fakeIndexedDb()
  const { server, device, open } = await browser({ store: indexedDbStore({ indexedDB }) })
  const tab = await open()
  device.disconnect()
  await tab.client.mutate(insert('i1')).durable
  tab.leave()
  const [{ name } = { name: '' }] = await listDatabases({ indexedDB })
  await deleteDatabase(name, { indexedDB })
  device.reconnect()
  await tab.comeBack()
  await server.clock.advance(60_000)
  expect(tab.client.status.lifecycle).toBe('signed-out')
  expect((await server.rows('ada')).map(({ id }) => id)).toEqual(['i0'])
  await server.close()
})

describe('a write of a frozen tab whose site data is evicted', () => {
  /** Two tabs of which the first leads, with a write of the second one, which is frozen and hears nothing. */
  async function frozen() {
    const engine = new ClosableStore()
    let isDeaf = false
    const world = await browser({
      store: { ...engine.store, kind: 'durable', shared: perOrigin },
      carry: (deliver) => isDeaf || deliver(),
    })
    const { server, device, open } = world
    const [leader, tab] = [await open(), await open({ visible: false })]
    device.disconnect()
    await server.clock.advance(60_000)
    const written = tab.client.mutate(insert('i1'))
    await server.clock.until(written.durable)
    await server.clock.advance(1_000)
    await tab.client.stop()
    tab.leave()
    isDeaf = true
    return {
      ...world,
      leader,
      tab,
      written,
      async evict() {
        engine.close('nothing')
        await server.clock.advance(5_000)
      },
      async comeBack() {
        isDeaf = false
        await tab.comeBack()
        tab.lifecycle.set({ visible: false })
        await tab.client.start()
        device.reconnect()
        await server.clock.advance(120_000)
      },
    }
  }

  test('does not come back if another tab has undone it meanwhile', async () => {
    const { server, leader, written, evict, comeBack } = await frozen()
    await server.clock.until(Promise.resolve(leader.client.outbox.get(written.id)?.undo()))
    await evict()
    await comeBack()
    expect(written.state).toBe('cancelled')
    await server.clock.until(leader.client.close())
    await server.clock.advance(120_000)
    expect((await server.rows('ada')).map(({ id }) => id)).toEqual(['i0'])
    await server.close()
  })

  test('invariant 28: is synced if another tab has sent it meanwhile, and much has happened since', async () => {
    const { server, device, leader, written, front, evict, comeBack } = await frozen()
    device.reconnect()
    await front(leader)
    await server.clock.advance(10_000)
    for (let n = 0; n < 1_100; n += 1) await server.write([{ op: 'i', t: 'Item', id: `e${n}`, p: {} }], 'ada')
    await server.clock.advance(20_000)
    await evict()
    await comeBack()
    expect(written.state).toBe('synced')
    await server.close()
  })
})

/** `store`, which calls `onPut` with what is put into the outbox. */
function watched(store: Store, onPut: (value: StoreValue) => void): Store {
  const tell = (table: Table, value: StoreValue) => table === 'outbox' && onPut(value)
  return {
    ...store,
    async open(name) {
      const connection = await store.open(name)
      return {
        ...connection,
        transaction: (options, body) =>
          connection.transaction(options, (tx) =>
            body({
              get: (...read) => tx.get(...read),
              keys: (...read) => tx.keys(...read),
              values: (...read) => tx.values(...read),
              delete: (...keys) => tx.delete(...keys),
              put(table, key, value) {
                tell(table, value)
                tx.put(table, key, value)
              },
              add(table, key, value) {
                tell(table, value)
                tx.add(table, key, value)
              },
            }),
          ),
      }
    },
  }
}

test('what is written in a frozen tab is stored after what was evicted', async () => {
  const engine = new ClosableStore()
  const ids: string[] = []
  const store = watched({ ...engine.store, kind: 'durable', shared: perOrigin }, (value) => {
    const [id] = /"i\d"/.exec(String(value)) ?? []
    if (id) ids.push(id)
  })
  const { server, device, open } = await browser({ store })
  const tab = await open()
  device.disconnect()
  await server.clock.advance(60_000)
  await server.clock.until(tab.client.mutate(insert('i1')).durable)
  tab.leave()
  tab.client.mutate(insert('i2'))
  await server.clock.advance(10)
  ids.length = 0
  engine.close('nothing')
  await tab.comeBack()
  await server.clock.advance(5_000)
  expect(ids).toEqual(['"i1"', '"i2"'])
  await server.close()
})

test('`logout` without a choice refuses while the disk does not take back an evicted write', async () => {
  const engine = new ClosableStore()
  let isFull = false
  const store = around({ ...engine.store, kind: 'durable', shared: perOrigin }, async (options, run) => {
    if (isFull && writesOutbox(options) && options.tables.length === 1)
      throw new StorageError('quota', 'There is no room.')
    return run()
  })
  const { server, device, open } = await browser({ store })
  const { client } = await open()
  device.disconnect()
  await server.clock.advance(60_000)
  await server.clock.until(client.mutate(insert('i1')).durable)
  isFull = true
  engine.close('nothing')
  await server.clock.advance(5_000)
  const refused = server.clock.until(client.logout().catch((error: unknown) => error))
  expect(await refused).toMatchObject({ name: 'PendingError' })
  await server.close()
})
