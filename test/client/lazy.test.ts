import { describe, expect, test } from 'vitest'
import { memoryStore } from '../../src/storage/memory.ts'
import { faults } from '../support/bare-server-faults.ts'
import { Device, shown } from '../support/device.ts'
import { models, restarted, unreliable } from '../support/lazy-types.ts'
import { FaultyStore } from '../support/store-faults.ts'
import { notes, TestBackend } from '../support/test-backend.ts'

describe('a lazy type that nobody has used', () => {
  test('reads as empty, is pending, and is there soon after its first use', async () => {
    const { device, client } = await restarted()
    expect([client.status.data.state, client.lastSyncId]).toEqual(['current', 1])
    const told: unknown[] = []
    client.on('change', (event) => told.push(event))
    const query = client.query('Issue')
    query.subscribe(({ status, rows }) => told.push([status, rows.length]))
    expect(query.status).toBe('pending')
    expect(query.rows).toEqual([])
    expect(client.get('Issue', '1')).toBeUndefined()
    expect(client.count('Issue')).toBe(0)
    await device.clock.advance(1)
    expect([query.status, client.get('Issue', '1')?.title]).toEqual(['ready', 'Milk'])
    expect(told).toEqual([['ready', 1], { kind: 'snapshot', lastSyncId: 1 }])
  })

  test.each([
    ['get', (client) => client.get('Issue', '1')],
    ['getMany', (client) => client.getMany('Issue', ['1'])],
    ['all', (client) => client.all('Issue')],
    ['count', (client) => client.count('Issue')],
    ['confirmed', (client) => client.confirmed('Issue', '1')],
    ['query', (client) => client.query('Issue')],
  ] satisfies [string, (client: Awaited<ReturnType<typeof restarted>>['client']) => unknown][])(
    'is used by %s',
    async (_, use) => {
      const { device, client } = await restarted()
      use(client)
      await device.clock.advance(1)
      expect(shown(client)).toEqual({ 1: { title: 'Milk' } })
    },
  )

  test('counts among the changes of a sync', async () => {
    const { device, client } = await restarted({}, new Device({ push: 'none' }))
    device.update('1', { title: 'Oat milk' })
    expect(await device.clock.until(client.sync())).toEqual({ kind: 'delta', sid: 2, changes: 1 })
  })

  test('emits no changes, and has them all when it is used, stored or not', async () => {
    const faulty = new FaultyStore(memoryStore())
    const { device, client } = await restarted({}, new Device({ store: faulty.store }))
    const told: string[] = []
    client.on('change', ({ kind }) => told.push(kind))
    device.update('1', { title: 'Oat milk' })
    device.insert('2')
    await device.clock.advance(2_000)
    faulty.arm(0, 'throw')
    device.update('1', { open: true })
    device.remove('2')
    await device.clock.advance(2_000)
    expect(told).toEqual([])
    await device.clock.until(client.load('Issue'))
    expect(shown(client)).toEqual({ 1: { title: 'Oat milk', open: true } })
    expect(device.log).toEqual([])
  })

  test('shows an unconfirmed push until a delta contradicts it', async () => {
    const { device, client } = await restarted()
    const pushed = { sid: 2, op: 'i', t: 'Issue', id: '2', p: {} }
    device.server.failNext(faults.answer(500, ''), { path: '/delta', times: 3 })
    device.push(pushed)
    await device.clock.advance(100)
    client.count('Issue')
    await device.clock.advance(1)
    expect(shown(client)).toEqual({ 1: { title: 'Milk' }, 2: {} })
    device.update('1', { n: 1 })
    await device.clock.advance(60_000)
    expect(shown(client)).toEqual({ 1: { title: 'Milk', n: 1 } })
  })

  test('does not confirm pushes of another type', async () => {
    const { device, client } = await restarted()
    const pushed = { sid: 2, op: 'i', t: 'Project', id: '2', p: {} }
    device.server.failNext(faults.answer(500, ''), { path: '/delta', times: 3 })
    device.push(pushed)
    await device.clock.advance(100)
    client.count('Issue')
    await device.clock.advance(1)
    expect([shown(client), client.count('Project')]).toEqual([{ 1: { title: 'Milk' } }, 1])
    device.update('1', { n: 1 })
    await device.clock.advance(60_000)
    expect([shown(client), client.count('Project')]).toEqual([{ 1: { title: 'Milk', n: 1 } }, 0])
  })

  test('is checked against its model when it loads', async () => {
    const device = new Device()
    device.insert('2', { bad: true })
    const { client } = await restarted({}, device)
    expect(device.log).toEqual([])
    await device.clock.until(client.load('Issue'))
    await device.clock.advance(10)
    expect(device.log).toEqual(['anomaly model: Issue 2 breaks its model: It is bad.'])
  })

  test('is read from disk even if another client stores there now', async () => {
    const { device, client } = await restarted()
    device.update('1', { n: 1 })
    await device.clock.advance(2_000)
    await device.live({ models })
    device.update('1', { n: 2 })
    await device.clock.advance(2_000)
    await device.clock.until(client.load('Issue'))
    expect(shown(client)).toEqual({ 1: { title: 'Milk', n: 2 } })
    expect(device.requests.filter((path) => path === 'bootstrap')).toHaveLength(1)
  })
})

describe('loading', () => {
  test('resolves as soon as the types are loaded', async () => {
    const { device, client } = await restarted()
    let isLoaded = false
    void client.load('Issue').then(() => {
      isLoaded = true
    })
    await device.clock.advance(1)
    expect(isLoaded).toBe(true)
  })

  test('of an eager or loaded type waits for data only', async () => {
    const { device, client } = await restarted()
    await device.clock.until(Promise.all([client.load('Project'), client.load('Issue')]))
    await client.load('Issue')
  })

  test('ends with the client, or with its signal', async () => {
    const device = new Device()
    const client = device.client({ models })
    const aborted = client.load('Issue', { signal: AbortSignal.abort(new Error('Enough.')) })
    await expect(aborted).rejects.toThrow('Enough.')
    const loading = client.load('Issue')
    await client.close()
    await expect(loading).rejects.toMatchObject({ name: 'ClosedError' })
  })

  test('of a type that is used during the first snapshot needs no second snapshot', async () => {
    const device = new Device()
    device.insert('1')
    const client = device.client({ models })
    const synced = client.sync()
    await device.clock.advance(0)
    const query = client.query('Issue')
    const told: unknown[] = []
    query.subscribe(({ status, rows }) => told.push([status, rows.length]))
    await device.clock.until(synced)
    expect(told).toEqual([['ready', 1]])
    expect(device.requests).toEqual(['bootstrap'])
  })

  test('is not needed if the data is in memory only', async () => {
    const device = new Device()
    device.insert('1')
    const client = device.client({ models, identity: null })
    await device.clock.until(client.sync())
    expect(client.query('Issue').status).toBe('ready')
    expect(shown(client)).toEqual({ 1: {} })
  })

  test('of a type that the disk cannot read fetches a snapshot', async () => {
    const disk = unreliable()
    const { device, client } = await restarted({}, new Device({ store: disk.store }))
    device.insert('2')
    await device.clock.advance(2_000)
    disk.failing = 2
    await device.clock.until(client.load('Issue'))
    expect(shown(client)).toEqual({ 1: { title: 'Milk' }, 2: {} })
    expect(device.log).toEqual(['reset repair since 2'])
    expect(client.status.storage.reason).toBeUndefined()
  })

  test.each([0, 1, 2, 3, 4, 5, 6])('loses nothing if step %i of storing a snapshot fails', async (step) => {
    const faulty = new FaultyStore(memoryStore())
    const { device, client } = await restarted({}, new Device({ store: faulty.store }))
    device.server.failNext(faults.gone(), { path: '/delta' })
    faulty.arm(step, 'throw')
    client.sync().catch(() => {})
    await device.clock.advance(5_000)
    expect(faulty.struck).toBe(true)
    await device.clock.until(client.load('Issue'))
    expect(shown(client)).toEqual({ 1: { title: 'Milk' } })
  })
})

describe('writing on a lazy type', () => {
  async function device() {
    const backend = new TestBackend()
    await backend.insert('1', { title: 'Milk' })
    const one = backend.device()
    await one.live({ models })
    await one.kill()
    return { backend, one, client: await one.live({ models }) }
  }

  test('that is not loaded is refused with advice, and loads it', async () => {
    const { backend, client } = await device()
    const write = () => client.mutate((m) => m.update('Note', '1', { n: 1 }))
    expect(write).toThrow(
      expect.objectContaining({
        name: 'ValidationError',
        code: 'not_loaded',
        t: 'Note',
        retryable: true,
        message: "Note: its records are not loaded yet; await `client.load('Note')` before you write.",
      }),
    )
    await backend.clock.advance(1)
    await backend.clock.until(write().synced)
    expect(await backend.rows()).toEqual({ 1: { title: 'Milk', n: 1 } })
    expect(notes(client)).toEqual(await backend.rows())
  })

  test('before there is data works as with any type', async () => {
    const backend = new TestBackend()
    const client = backend.device().client({ models })
    const tx = client.mutate((m) => m.insert('Note', { id: '1', title: 'Milk' }))
    expect(notes(client)).toEqual({ 1: { title: 'Milk' } })
    await client.start()
    await backend.clock.until(tx.synced)
    expect(notes(client)).toEqual({ 1: { title: 'Milk' } })
  })

  test('is shown after a restart, since a pending write loads its type', async () => {
    const { backend, one, client } = await device()
    await backend.clock.until(client.load('Note'))
    one.network.cut()
    const tx = client.mutate((m) => m.update('Note', '1', { n: 1 }))
    await backend.clock.until(tx.durable)
    await one.kill()
    one.network.cut()
    const again = one.client({ models })
    await backend.clock.until(again.start())
    expect(notes(again)).toEqual({ 1: { title: 'Milk', n: 1 } })
  })
})
