import { mockSyncServer } from 'instep/testing'
import { describe, expect, test } from 'vitest'
import { StorageError } from '../../src/base/errors.ts'
import type { SyncClientOptions } from '../../src/index.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import type { Store } from '../../src/storage/store.ts'
import { perOrigin } from '../support/per-origin.ts'
import { watching } from '../support/watching-store.ts'

/** A page whose browser stores the data. */
function newPage(inner: Store = memoryStore()) {
  const server = mockSyncServer()
  const device = server.device()
  const store: Store = { ...inner, kind: 'durable', shared: perOrigin }
  const open = async (options: Partial<Omit<SyncClientOptions, 'identity'>> = {}) => {
    const client = device.client({ identity: 'ada', store, ...options })
    await server.clock.until(client.start())
    await server.clock.advance(100)
    return client
  }
  const { storageManager, localStorage } = device.environment
  return { server, device, store, open, storageManager, localStorage }
}

/** A client that has written `count` notes offline. */
async function unsent(count: number) {
  const page = newPage()
  page.device.disconnect()
  const client = await page.open()
  const name = `instep:${JSON.stringify([client.endpoints.bootstrapUrl, 'ada'])}`
  for (let n = 0; n < count; n += 1) client.mutate((m) => m.insert('Note', { id: `n${n}` }))
  await page.server.clock.advance(100)
  return { ...page, client, name, wipe: () => page.store.destroy(name) }
}

describe('the status of storage', () => {
  test('has the space that the browser reports', async () => {
    const { open, storageManager } = newPage()
    storageManager.usage = 1_000
    const client = await open()
    expect(client.status.storage).toEqual({
      kind: 'durable',
      persisted: false,
      usage: 1_000,
      quota: 10_000_000_000,
    })
  })

  test('is brought up to date when the page comes to the front', async () => {
    const { device, server, open, storageManager } = newPage()
    const client = await open()
    storageManager.usage = 5_000
    for (const visible of [false, true]) device.environment.lifecycle.set({ visible })
    await server.clock.advance(100)
    expect(client.status.storage.usage).toBe(5_000)
  })

  test('says nothing of the space if the store is not a browser’s', async () => {
    const { open } = newPage()
    const client = await open({ store: memoryStore() })
    expect(client.status.storage).toEqual({ kind: 'memory' })
    expect(await client.requestPersistence()).toBe(false)
  })

  test('leaves out values that a browser does not report or fails to report', async () => {
    const { open } = newPage()
    const storageManager = { estimate: () => Promise.reject(new Error('Not here.')) }
    const client = await open({ environment: { storageManager } })
    expect(client.status.storage).toEqual({ kind: 'durable' })
    expect(await client.requestPersistence()).toBe(false)
  })

  test('says `memory` if there was no room from the start', async () => {
    const full = watching(memoryStore(), ({ mode }) => {
      if (mode === 'write') throw new StorageError('quota', 'No room.')
    })
    const client = await newPage(full).open()
    expect(client.status.storage).toMatchObject({ kind: 'memory', reason: 'No room.' })
  })

  test('says `memory` while the disk refuses writes', async () => {
    const disk = { isFull: false }
    const { server, open } = newPage(
      watching(memoryStore(), ({ mode }) => {
        if (disk.isFull && mode === 'write') throw new StorageError('quota', 'No room.')
      }),
    )
    const client = await open()
    expect(client.status.storage.kind).toBe('durable')
    disk.isFull = true
    client.mutate((m) => m.insert('Note', {}))
    await server.clock.advance(100)
    expect(client.status.storage).toMatchObject({ kind: 'memory', reason: 'No room.' })
    disk.isFull = false
    client.mutate((m) => m.insert('Note', {}))
    await server.clock.advance(100)
    expect(client.status.storage.kind).toBe('durable')
  })
})

describe('requestPersistence', () => {
  test.each([true, false])('resolves with whether the browser keeps the data: %s', async (grants) => {
    const { open, storageManager } = newPage()
    storageManager.grants = grants
    const client = await open()
    expect(await client.requestPersistence()).toBe(grants)
    expect(client.status.storage.persisted).toBe(grants)
  })

  test('asks the browser in the same turn, so that a click counts', async () => {
    const { open, storageManager } = newPage()
    const client = await open()
    const asked = client.requestPersistence()
    expect(storageManager.isPersisted).toBe(true)
    await asked
  })

  test('rejects once the client is closed', async () => {
    const { server, open } = newPage()
    const client = await open()
    await server.clock.until(client.close())
    await expect(client.requestPersistence()).rejects.toMatchObject({ code: 'closed' })
  })
})

describe('a database that the browser has deleted', () => {
  test('invariant 32: the next start says how many unsynced transactions are lost', async () => {
    const { device, server, store, wipe } = await unsent(3)
    await device.close()
    await wipe()
    const client = server.client({ identity: 'ada', store, environment: device.environment })
    const lost: (number | undefined)[] = []
    client.on('storage', (storage) => lost.push(storage.lost))
    await server.clock.until(client.start())
    await server.clock.advance(100)
    expect(client.status.storage.lost).toBe(3)
    expect(lost).toContain(3)
  })

  test('says nothing if nothing was pending', async () => {
    const { server, client, open, device, wipe, localStorage, name } = await unsent(2)
    device.reconnect()
    await server.settle()
    await server.clock.until(client.close())
    expect(localStorage.getItem(`${name}:pending`)).toBeNull()
    await wipe()
    expect((await open()).status.storage).not.toHaveProperty('lost')
  })

  test('says nothing if the user has signed out and discarded them', async () => {
    const { server, client, open } = await unsent(2)
    await server.clock.until(client.logout({ pending: 'discard' }))
    expect((await open()).status.storage).not.toHaveProperty('lost')
  })

  test('is said once, and not of a database that is there', async () => {
    const { server, client, open, wipe } = await unsent(2)
    await server.clock.until(client.close())
    const second = await open()
    expect(second.status.storage).not.toHaveProperty('lost')
    expect(second.status.writes.pending).toBe(2)
    await server.clock.until(second.close())
    await wipe()
    const third = await open()
    expect(third.status.storage.lost).toBe(2)
    await server.clock.until(third.close())
    expect((await open()).status.storage).not.toHaveProperty('lost')
  })

  test('counts the writes of a tab that did not lead', async () => {
    const { server, client, open, wipe } = await unsent(1)
    const second = await open()
    client.mutate((m) => m.insert('Note', {}))
    await server.clock.advance(1_000)
    for (const each of [client, second]) await server.clock.until(each.close())
    await wipe()
    expect((await open()).status.storage.lost).toBe(2)
  })

  test('costs at most one mark a second', async () => {
    const { server, device, store } = await unsent(0)
    let marks = 0
    const { localStorage } = device.environment
    const counting = {
      getItem: (key: string) => localStorage.getItem(key),
      removeItem: (key: string) => localStorage.removeItem(key),
      setItem(key: string, value: string) {
        marks += 1
        localStorage.setItem(key, value)
      },
    }
    const client = device.client({ identity: 'ada', store, environment: { localStorage: counting } })
    await server.clock.until(client.start())
    for (let n = 0; n < 50; n += 1) {
      client.mutate((m) => m.insert('Note', {}))
      await server.clock.advance(60)
    }
    expect(marks).toBeGreaterThanOrEqual(3)
    expect(marks).toBeLessThanOrEqual(4)
  })

  test('a browser that blocks `localStorage` stops nothing', async () => {
    const { server, open } = newPage()
    const fail = () => {
      throw new DOMException('Blocked.', 'SecurityError')
    }
    const client = await open({
      environment: { localStorage: { getItem: fail, setItem: fail, removeItem: fail } },
    })
    await server.clock.until(client.mutate((m) => m.insert('Note', {})).synced)
    expect(client.status.storage.kind).toBe('durable')
  })
})
