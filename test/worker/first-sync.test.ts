import { describe, expect, test } from 'vitest'
import { StorageError } from '../../src/base/errors.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import type { Store } from '../../src/storage/store.ts'
import { bytesOf, faults } from '../support/bare-server-faults.ts'
import { Device, shown } from '../support/device.ts'
import { watching } from '../support/watching-store.ts'
import { fill, sharedStore, WorkerDevice } from '../support/worker-device.ts'

/** What a restart without the network shows. */
async function afterRestart(device: Device) {
  await device.quit()
  device.network.cut()
  const client = device.client()
  await client.start()
  return shown(client)
}

async function pageKeys(store: Store): Promise<readonly string[]> {
  const [name = ''] = [`instep:${JSON.stringify(['https://api.example.com/sync/v1/bootstrap', 'ada'])}`]
  const connection = await store.open(name)
  return connection.transaction({ tables: ['pages'], mode: 'read' }, (tx) => tx.keys('pages'))
}

/** `store`, whose every write of pages fails once `writes` have not. */
function full(store: Store, writes: number): Store {
  let left = writes
  return watching(store, ({ mode, tables }) => {
    if (mode !== 'write' || !tables.includes('pages')) return
    if (left === 0) throw new StorageError('quota', 'There is no room.')
    left -= 1
  })
}

describe('a first sync through a worker', () => {
  test('shows and stores what one in the page does', async () => {
    const device = new WorkerDevice()
    fill(device, 3_000)
    const client = device.client(device.options)
    expect(await device.clock.until(client.sync())).toEqual({ kind: 'bootstrap', sid: 3_000, changes: 3_000 })
    const there = shown(client)
    expect(client.status.storage.reason).toBeUndefined()
    // The worker stored it: the page began no write of its own, whose keys would be of the first generation.
    expect(new Set((await pageKeys(device.store)).map((key) => key.split('/')[0]))).toEqual(new Set(['1.2']))
    expect(await afterRestart(device)).toEqual(there)
    const other = new Device({ push: 'none' })
    fill(other, 3_000)
    const inPage = other.client()
    await other.clock.until(inPage.sync())
    expect(there).toEqual(shown(inPage))
  })

  test('ends its worker, and leaves no timer', async () => {
    const device = new WorkerDevice()
    fill(device, 10)
    const client = device.client(device.options)
    await device.clock.until(client.sync())
    await device.clock.until(client.sync())
    expect(device.workers.map(({ terminated }) => terminated)).toEqual([true])
    expect(device.clock.timers).toBe(0)
  })

  test('tells how far it is', async () => {
    const device = new WorkerDevice({ store: sharedStore() })
    fill(device, 3_000)
    const client = device.client(device.options)
    const rows: number[] = []
    client.on('status', ({ data }) => {
      if (data.state === 'loading' && data.progress) rows.push(data.progress.rows)
    })
    await device.clock.until(client.sync())
    expect(rows.at(-1)).toBe(3_000)
  })

  test('shows what has come where the rest takes long', async () => {
    const device = new WorkerDevice()
    fill(device, 5_000)
    device.server.behaviour.chunkBytes = 10_000
    device.network.chunkMs = 200
    const client = device.client(device.options)
    const counts: number[] = []
    client.on('change', () => counts.push(client.count('Issue')))
    await device.clock.until(client.sync())
    expect(counts.length).toBeGreaterThan(3)
    expect(counts).toEqual([...counts].sort((a, b) => a - b))
    expect(counts.at(-1)).toBe(5_000)
  })

  test('is there once it is said to be stored, however long the disk of the worker takes', async () => {
    const device = new WorkerDevice()
    device.workerStore = watching(device.store, ({ mode, tables }) => {
      if (mode !== 'write' || !tables.includes('pages')) return undefined
      return new Promise<void>((resolve) => void device.clock.after(2_000, resolve))
    })
    fill(device, 100)
    const client = device.client(device.options)
    await device.clock.until(client.sync())
    expect(client.status.storage.reason).toBeUndefined()
    expect(await afterRestart(device)).toEqual(expect.objectContaining({ 99: expect.anything() }))
  })

  test('stores by itself what is stored otherwise than it came', async () => {
    const device = new WorkerDevice()
    fill(device, 600)
    const odd = { t: 'Issue', id: 'odd', v: 'no number', p: { title: 'Odd' } }
    device.server.failNext((answer) => {
      const { sid, rows } = JSON.parse(bytesOf(answer).toString())
      return { ...answer, body: [JSON.stringify({ sid, rows: [odd, ...rows] })] }
    })
    const client = device.client(device.options)
    await device.clock.until(client.sync())
    const there = shown(client)
    expect(there).toMatchObject({ odd: { title: 'Odd' }, 599: { n: 599 } })
    const generations = (await pageKeys(device.store)).map((key) => key.split('/')[0])
    expect(new Set(generations)).toEqual(new Set(['1.1', '1.2']))
    expect(await afterRestart(device)).toEqual(there)
  })

  test('in memory only takes nothing from the worker but slices', async () => {
    const device = new WorkerDevice({ store: memoryStore() })
    fill(device, 100)
    const client = device.client({ ...device.options, identity: null })
    await device.clock.until(client.sync())
    expect(Object.keys(shown(client))).toHaveLength(100)
    // That it stores nothing is no failure of its own, for which it would not be used again.
    expect(device.warnings).toEqual([])
  })

  test('into a store that no worker reaches is stored by the page', async () => {
    const device = new WorkerDevice({ store: memoryStore() })
    fill(device, 10)
    const client = device.client(device.options)
    await device.clock.until(client.sync())
    expect((await pageKeys(device.store)).map((key) => key.split('/')[0])).toEqual(['1.1'])
    expect(await afterRestart(device)).toEqual(expect.objectContaining({ 9: expect.anything() }))
  })

  test.each([0, 1])(
    'that a worker cannot store behind %i transactions is in memory, and says so',
    async (writes) => {
      const device = new WorkerDevice()
      device.workerStore = full(device.store, writes)
      fill(device, 3_000)
      const client = device.client(device.options)
      await expect(device.clock.until(client.sync())).rejects.toMatchObject({
        name: 'StorageError',
        code: 'quota',
      })
      expect(client.count('Issue')).toBe(3_000)
      expect(client.status.storage.reason).toBe('There is no room.')
      expect(await pageKeys(device.store)).toEqual([])
      expect(await afterRestart(device)).toEqual({})
    },
  )

  test('of a client that is opened anew meanwhile writes nothing into what the other has', async () => {
    const device = new WorkerDevice()
    fill(device, 3_000)
    const former = device.client(device.options)
    let later: ReturnType<typeof device.client> | undefined
    device.workerStore = watching(device.store, async () => {
      if (later) return
      later = device.client()
      await later.start()
    })
    await expect(device.clock.until(former.sync())).rejects.toMatchObject({
      name: 'StorageError',
      code: 'fenced',
    })
    expect(await pageKeys(device.store)).toEqual([])
  })

  test('that is stopped ends its worker, and leaves no page behind', async () => {
    const device = new WorkerDevice()
    fill(device, 3_000)
    device.server.failNext(faults.truncated(0.9, 'stalled'), { path: '/bootstrap' })
    const client = device.client(device.options)
    await client.start()
    await device.clock.advance(1_000)
    await device.clock.until(client.stop())
    expect(device.worker.terminated).toBe(true)
    expect(await pageKeys(device.store)).toEqual([])
    expect(await device.clock.until(client.sync())).toMatchObject({ kind: 'bootstrap' })
    expect(await afterRestart(device)).toEqual(expect.objectContaining({ 2999: expect.anything() }))
  })
})
