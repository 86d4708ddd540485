import { describe, expect, test } from 'vitest'
import { StorageError } from '../../src/base/errors.ts'
import type { SyncClient } from '../../src/index.ts'
import { ClosableStore } from '../support/closable-store.ts'
import { type Step, withSteps } from '../support/store-steps.ts'
import { at, failure, notes, TestBackend } from '../support/test-backend.ts'

async function open() {
  const backend = new TestBackend()
  await backend.insert('1', { title: 'Milk' })
  const disk = new ClosableStore()
  const device = backend.device({ store: disk.store })
  return { backend, disk, device, client: await device.live() }
}

const insert = (client: SyncClient, id: string) => client.mutate((m) => m.insert('Note', { id }))

describe.each(['all', 'nothing'] as const)(
  'if the engine closes the database and leaves %s of it',
  (left) => {
    test('a later write is stored in the database that is opened again', async () => {
      const { backend, disk, device, client } = await open()
      disk.close(left)
      const tx = insert(client, '2')
      await backend.clock.until(tx.durable, 1_000)
      await backend.clock.until(tx.synced)
      await backend.clock.advance(5_000)
      expect([disk.opened, client.status.storage]).toEqual([2, { kind: 'memory' }])
      expect(notes(await device.offline())).toEqual({ 1: { title: 'Milk' }, 2: {} })
      expect(backend.received).toEqual([tx.id])
      expect(device.log).toEqual(left === 'all' ? [] : ['reset repair since 1'])
    })

    test('invariant 32: an earlier offline write is there after a restart, and is sent once', async () => {
      const { backend, disk, device, client } = await open()
      device.network.cut()
      const before = insert(client, '2')
      await backend.clock.until(before.durable)
      disk.close(left)
      const after = insert(client, '3')
      await backend.clock.until(after.durable)
      await backend.clock.advance(1_000)
      const again = await device.offline()
      expect(again.outbox.list().map(({ id }) => id)).toEqual([before.id, after.id])
      device.network.mend()
      await backend.clock.advance(60_000)
      expect(notes(again)).toEqual({ 1: { title: 'Milk' }, 2: {}, 3: {} })
      expect(backend.head).toBe(3)
      expect(Object.keys(notes(await device.offline()))).toEqual(['1', '2', '3'])
    })

    test('later changes are stored in the database that is opened again', async () => {
      const { backend, disk, device, client } = await open()
      disk.close(left)
      await backend.insert('2')
      await backend.clock.advance(5_000)
      expect([disk.opened, client.status.storage]).toEqual([2, { kind: 'memory' }])
      await backend.insert('3')
      await backend.clock.advance(1_000)
      expect(Object.keys(notes(await device.offline()))).toEqual(['1', '2', '3'])
    })

    test('invariant 32: pending writes and data are there after a restart, even if nothing changed since', async () => {
      const { backend, disk, device, client } = await open()
      backend.intercept = at('tx', async () => failure(503))
      const tx = insert(client, '2')
      await backend.clock.until(tx.durable)
      disk.close(left)
      await backend.clock.advance(1_000)
      const again = await device.offline()
      expect([disk.opened, again.outbox.list().map(({ id }) => id)]).toEqual([3, [tx.id]])
      expect(notes(again)).toEqual({ 1: { title: 'Milk' }, 2: {} })
    })

    test.each([
      ['while a snapshot is stored', false],
      ['for what is written while a snapshot is stored', true],
    ])('%s, a snapshot is fetched again, and is durable', async (_, writes) => {
      const { backend, disk, device } = await open()
      await device.kill()
      await backend.server.restore()
      await backend.insert('2')
      const client = device.client()
      backend.intercept = at('bootstrap', async (_, pass) => {
        if (disk.opened > 2) return pass()
        disk.close(left)
        if (writes) await insert(client, '3').durable
        return pass()
      })
      expect(await backend.clock.until(client.sync())).toMatchObject({ kind: 'bootstrap' })
      expect([disk.opened, client.status.storage]).toEqual([3, { kind: 'memory' }])
      expect(notes(await device.offline())).toEqual({ 2: {}, ...(writes && { 3: {} }) })
    })
  },
)

test('invariant 31: a database that is deleted on purpose stays closed, and the client reports it at once', async () => {
  const { backend, disk, client } = await open()
  await disk.store.destroy(disk.name)
  await backend.clock.advance(60_000)
  expect([disk.opened, client.status.storage.reason]).toEqual([1, 'This connection is closed.'])
})

test('a client that lost its database to another does not take it back when the engine closes it', async () => {
  const { backend, disk, device, client } = await open()
  const other = backend.device({ store: disk.store })
  await other.live()
  await backend.insert('2')
  await backend.clock.advance(1_000)
  expect(client.status.role).toBe('follower')
  disk.close('all')
  await backend.insert('3')
  await backend.clock.advance(1_000)
  expect(client.status.role).toBe('follower')
  device.network.cut()
  await other.kill()
  const again = other.client()
  await backend.clock.until(again.start())
  expect(Object.keys(notes(again))).toEqual(['1', '2', '3'])
})

test('a rejected write stays in the inbox if the database comes back empty and cannot be written', async () => {
  const backend = new TestBackend()
  await backend.insert('2', {}, 'bob')
  const disk = new ClosableStore()
  let isFull = false
  const immediate = ({ name }: Step) => {
    if (name === 'put' && isFull) throw new StorageError('quota', 'The disk is full.')
  }
  const device = backend.device({ store: withSteps(disk.store, { awaited: () => undefined, immediate }) })
  const client = await device.live()
  insert(client, '2')
  await backend.clock.advance(10_000)
  device.network.cut()
  await insert(client, '2').durable
  isFull = true
  disk.close('nothing')
  await backend.clock.advance(10_000)
  device.network.mend()
  await backend.clock.advance(60_000)
  expect(client.outbox.list().map(({ state }) => state)).toEqual(['rejected', 'rejected'])
  expect(device.log.filter((line) => line.startsWith('rejected'))).toHaveLength(2)
})

describe('opening the database again', () => {
  test.each([3_000, 12_000, 60_000])(
    'does not block a wait of %i ms, even if the engine closes it each time',
    async (ms) => {
      const backend = new TestBackend()
      await backend.insert('1', { title: 'Milk' })
      const disk = new ClosableStore()
      let fetched = 0
      backend.intercept = at('bootstrap', async (_, pass) => {
        fetched += 1
        await backend.wait(ms)
        disk.close('nothing')
        return pass()
      })
      const client = backend.device({ store: disk.store }).client()
      await client.start()
      await backend.clock.advance(600_000)
      expect(notes(client)).toEqual({ 1: { title: 'Milk' } })
      expect(client.status.storage.reason).toBeUndefined()
      expect(fetched).toBeLessThanOrEqual(3)
    },
  )

  test('is tried three times if the engine refuses, and not again once it is open', async () => {
    const { backend, disk, client } = await open()
    disk.close('nothing')
    disk.refusals = 2
    const tx = insert(client, '2')
    await backend.clock.until(tx.durable)
    await backend.clock.advance(600_000)
    expect(disk.opened).toBe(4)
  })

  test('is no longer reported as failed once it has succeeded, even without a change', async () => {
    const { backend, disk, client } = await open()
    disk.refusals = 1
    disk.close('all')
    await backend.clock.advance(100)
    expect([disk.opened, client.status.storage.reason]).toEqual([2, 'The engine closed it.'])
    await backend.clock.advance(10_000)
    expect([disk.opened, client.status.storage.reason]).toEqual([3, undefined])
  })

  test('invariant 31: is tried again with each write', async () => {
    const { backend, disk, device, client } = await open()
    device.network.cut()
    await backend.clock.advance(1_000)
    disk.refusals = 2
    disk.close('nothing')
    const kept = insert(client, '2')
    await backend.clock.advance(1)
    expect([kept.state, client.status.storage.reason]).toEqual(['queued', 'The engine closed it.'])
    const failedAt = backend.clock.now()
    await backend.clock.until(insert(client, '3').durable)
    expect(backend.clock.now()).toBe(failedAt)
    device.network.mend()
    await backend.clock.advance(60_000)
    expect([disk.opened, client.status.storage.reason]).toEqual([4, undefined])
    expect(device.log).toEqual(['error StorageError closed', 'reset repair since 1'])
  })

  test('is tried again with the next change, after 10 s, and then every 10 minutes, in a client that only reads', async () => {
    const { backend, disk, device, client } = await open()
    disk.refusals = 3
    disk.close('nothing')
    await backend.insert('2')
    const opened = async (ms: number) => {
      await backend.clock.advance(ms)
      return [disk.opened, client.status.storage.reason]
    }
    expect(await opened(9_000)).toEqual([3, 'The engine closed it.'])
    expect(await opened(2_000)).toEqual([4, 'The engine closed it.'])
    expect(await opened(590_000)).toEqual([4, 'The engine closed it.'])
    expect(await opened(20_000)).toEqual([5, undefined])
    expect(notes(await device.offline())).toEqual(await backend.rows())
  })

  test('works for a client that only reads, however often the engine closes it', async () => {
    const { backend, disk, device, client } = await open()
    for (let n = 2; n < 12; n += 1) {
      disk.close('nothing')
      await backend.insert(`${n}`)
      await backend.clock.advance(1_000)
    }
    await backend.clock.advance(60_000)
    expect(client.status.storage).toEqual({ kind: 'memory' })
    expect(notes(await device.offline())).toEqual(await backend.rows())
  })

  test('keeps writes while the engine closes it once a second', async () => {
    const { backend, disk, client } = await open()
    const written = []
    for (let n = 0; n < 30; n += 1) {
      disk.close('nothing')
      written.push(insert(client, `n${n}`))
      await backend.clock.advance(1_000)
    }
    await backend.clock.until(Promise.all(written.map(({ synced }) => synced)))
    expect(written.map(({ state }) => state)).toEqual(written.map(() => 'synced'))
  })

  test('keeps an offline write that the engine keeps from being stored five times in a row', async () => {
    const backend = new TestBackend()
    const disk = new ClosableStore()
    let isOutbox = false
    let left = 0
    const store = withSteps(disk.store, {
      awaited({ name }) {
        if (name !== 'end' || !isOutbox || left === 0) return undefined
        isOutbox = false
        left -= 1
        disk.close('nothing')
        return undefined
      },
      immediate({ table }) {
        isOutbox ||= table === 'outbox'
      },
    })
    const device = backend.device({ store })
    const client = await device.live()
    device.network.cut()
    await backend.clock.advance(1_000)
    left = 5
    const tx = insert(client, '2')
    await backend.clock.until(tx.durable)
    expect(left).toBe(0)
    await backend.clock.advance(10_000)
    const again = await device.offline()
    expect(again.outbox.list().map(({ id }) => id)).toEqual([tx.id])
  })

  test('is awaited by `close`, which stores earlier writes there', async () => {
    const { backend, disk, device, client } = await open()
    backend.intercept = at('tx', async () => failure(503))
    const tx = insert(client, '2')
    await backend.clock.until(tx.durable)
    disk.close('nothing')
    disk.refusals = 1
    await backend.insert('3')
    await backend.clock.advance(100)
    await backend.clock.until(client.close())
    const again = await device.offline()
    expect(again.outbox.list().map(({ id }) => id)).toEqual([tx.id])
  })

  test('does not delay `close` by more than half a minute, though the engine closes it at each write', async () => {
    const backend = new TestBackend()
    await backend.insert('1', { title: 'Milk' })
    const disk = new ClosableStore()
    let isClosing = false
    const immediate = ({ name }: Step) => {
      if (name === 'put' && isClosing) disk.close('nothing')
    }
    const device = backend.device({ store: withSteps(disk.store, { awaited: () => undefined, immediate }) })
    const client = await device.live()
    isClosing = true
    insert(client, '2').durable.catch(() => {})
    await backend.clock.advance(70_000)
    const at = backend.clock.now()
    await backend.clock.until(client.close())
    expect(backend.clock.now() - at).toBeLessThan(30_000)
  })

  test('ends with the client', async () => {
    const { backend, disk, client } = await open()
    disk.close('nothing')
    disk.refusals = 1
    const tx = insert(client, '2')
    tx.durable.catch(() => {})
    await backend.clock.until(client.close())
    expect(disk.opened).toBe(3)
  })
})

test('a write is there after a restart, though the database was cleared again while it was stored again', async () => {
  const backend = new TestBackend()
  const disk = new ClosableStore()
  let isCleared = false
  let isStoring = false
  const store = withSteps(disk.store, {
    awaited({ name, mode }) {
      if (name !== 'complete' || mode !== 'write' || !isStoring) return undefined
      isCleared = false
      isStoring = false
      disk.close('nothing')
      // The tab hears that it was cleared before it hears that the write was stored.
      return new Promise((resolve) => void backend.clock.after(1_000, resolve))
    },
    immediate({ table }) {
      isStoring ||= isCleared && table === 'outbox'
    },
  })
  const device = backend.device({ store })
  const client = await device.live()
  device.network.cut()
  const first = insert(client, '2')
  const second = insert(client, '3')
  await backend.clock.until(Promise.all([first.durable, second.durable]))
  isCleared = true
  disk.close('nothing')
  await backend.clock.advance(5_000)
  const again = await device.offline()
  expect(again.outbox.list().map(({ id }) => id)).toEqual([first.id, second.id])
})
