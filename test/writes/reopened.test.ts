import { describe, expect, test } from 'vitest'
import { StorageError } from '../../src/base/errors.ts'
import type { SyncClient } from '../../src/index.ts'
import { ClosableStore } from '../support/closable-store.ts'
import { at, type Desk, failure, notes, Office } from '../support/office.ts'
import { type Step, withSteps } from '../support/store-steps.ts'

async function open() {
  const office = await Office.open()
  await office.insert('1', { title: 'Milk' })
  const disk = new ClosableStore()
  const desk = office.desk({ store: disk.store })
  return { office, disk, desk, client: await desk.live() }
}

/** A client that starts without the network, from what is on the disk. */
async function restarted(desk: Desk): Promise<SyncClient> {
  await desk.kill()
  desk.network.cut()
  const client = desk.client()
  await desk.clock.until(client.start())
  return client
}

const insert = (client: SyncClient, id: string) => client.mutate((m) => m.insert('Note', { id }))

describe.each(['all', 'nothing'] as const)(
  'where the engine closes the database and leaves %s of it',
  (left) => {
    test('invariant 31: what is written then is stored in one that is opened again', async () => {
      const { office, disk, desk, client } = await open()
      disk.close(left)
      const tx = insert(client, '2')
      await office.clock.until(tx.durable)
      await office.clock.until(tx.synced)
      await office.clock.advance(5_000)
      expect([disk.opened, client.status.storage]).toEqual([2, { kind: 'memory' }])
      expect(notes(await restarted(desk))).toEqual({ 1: { title: 'Milk' }, 2: {} })
      expect(office.received).toEqual([tx.id])
      expect(desk.log).toEqual(left === 'all' ? [] : ['reset repair'])
    })

    test('invariant 32: what was written before without a network is there after a restart, and arrives once', async () => {
      const { office, disk, desk, client } = await open()
      desk.network.cut()
      const before = insert(client, '2')
      await office.clock.until(before.durable)
      disk.close(left)
      const after = insert(client, '3')
      await office.clock.until(after.durable)
      await office.clock.advance(1_000)
      const again = await restarted(desk)
      expect(again.outbox.list().map(({ id }) => id)).toEqual([before.id, after.id])
      desk.network.mend()
      await office.clock.advance(60_000)
      expect(notes(again)).toEqual({ 1: { title: 'Milk' }, 2: {}, 3: {} })
      expect((await office.log.position()).head).toBe(3)
      expect(Object.keys(notes(await restarted(desk)))).toEqual(['1', '2', '3'])
    })

    test('changes that come then are stored in one that is opened again', async () => {
      const { office, disk, desk, client } = await open()
      disk.close(left)
      await office.insert('2')
      await office.clock.advance(5_000)
      expect([disk.opened, client.status.storage]).toEqual([2, { kind: 'memory' }])
      await office.insert('3')
      await office.clock.advance(1_000)
      expect(Object.keys(notes(await restarted(desk)))).toEqual(['1', '2', '3'])
    })

    test('invariant 32: what waits is there after a restart, and the data too, though nothing was written or came then', async () => {
      const { office, disk, desk, client } = await open()
      office.intercept = at('tx', async () => failure(503))
      const tx = insert(client, '2')
      await office.clock.until(tx.durable)
      disk.close(left)
      await office.clock.advance(1_000)
      const again = await restarted(desk)
      expect([disk.opened, again.outbox.list().map(({ id }) => id)]).toEqual([3, [tx.id]])
      expect(notes(again)).toEqual({ 1: { title: 'Milk' }, 2: {} })
    })

    test.each([
      ['while a snapshot is stored', false],
      ['for what is written while a snapshot is stored', true],
    ])('%s, it is fetched again, and is durable', async (_, writes) => {
      const { office, disk, desk } = await open()
      await desk.kill()
      await office.startOver()
      await office.insert('2')
      const client = desk.client()
      office.intercept = at('bootstrap', async (_, pass) => {
        if (disk.opened > 2) return pass()
        disk.close(left)
        if (writes) await insert(client, '3').durable
        return pass()
      })
      expect(await office.clock.until(client.sync())).toMatchObject({ kind: 'bootstrap' })
      expect([disk.opened, client.status.storage]).toEqual([3, { kind: 'memory' }])
      expect(notes(await restarted(desk))).toEqual({ 2: {}, ...(writes && { 3: {} }) })
    })
  },
)

test('a database that is deleted on purpose stays closed, which is said at once', async () => {
  const { office, disk, client } = await open()
  await disk.store.destroy(disk.name)
  await office.clock.advance(60_000)
  expect([disk.opened, client.status.storage.reason]).toEqual([1, 'This connection is closed.'])
})

test('a client that was told that another has its database does not take it back when the engine closes it', async () => {
  const { office, disk, desk, client } = await open()
  const other = office.desk({ store: disk.store })
  await other.live()
  await office.insert('2')
  await office.clock.advance(1_000)
  expect(client.status.storage.reason).toMatch(/^Another tab stores/)
  disk.close('all')
  await office.insert('3')
  await office.clock.advance(1_000)
  expect(client.status.storage.reason).toMatch(/^Another tab stores/)
  desk.network.cut()
  await other.kill()
  const again = other.client()
  await office.clock.until(again.start())
  expect(Object.keys(notes(again))).toEqual(['1', '2', '3'])
})

test('what is rejected waits in the inbox where the database comes back empty, and nothing can be stored', async () => {
  const office = await Office.open()
  await office.insert('2', {}, 'bob')
  const disk = new ClosableStore()
  let isFull = false
  const immediate = ({ name }: Step) => {
    if (name === 'put' && isFull) throw new StorageError('quota', 'The disk is full.')
  }
  const desk = office.desk({ store: withSteps(disk.store, { awaited: () => undefined, immediate }) })
  const client = await desk.live()
  insert(client, '2')
  await office.clock.advance(10_000)
  desk.network.cut()
  await insert(client, '2').durable
  isFull = true
  disk.close('nothing')
  await office.clock.advance(10_000)
  desk.network.mend()
  await office.clock.advance(60_000)
  expect(client.outbox.list().map(({ state }) => state)).toEqual(['rejected', 'rejected'])
  expect(desk.log.filter((line) => line.startsWith('rejected'))).toHaveLength(2)
})

describe('opening the database again', () => {
  test.each([3_000, 12_000, 60_000])(
    'keeps nobody from what takes %i ms to come, where the engine closes it each time',
    async (ms) => {
      const office = await Office.open()
      await office.insert('1', { title: 'Milk' })
      const disk = new ClosableStore()
      let fetched = 0
      office.intercept = at('bootstrap', async (_, pass) => {
        fetched += 1
        await new Promise<void>((resolve) => void office.clock.after(ms, resolve))
        disk.close('nothing')
        return pass()
      })
      const client = office.desk({ store: disk.store }).client()
      await client.start()
      await office.clock.advance(600_000)
      expect(notes(client)).toEqual({ 1: { title: 'Milk' } })
      expect(client.status.storage.reason).toMatch(/closed during two snapshots/)
      expect(fetched).toBeLessThanOrEqual(3)
    },
  )

  test('is tried three times where the engine refuses, and no more once it is open', async () => {
    const { office, disk, client } = await open()
    disk.close('nothing')
    disk.refusals = 2
    const tx = insert(client, '2')
    await office.clock.until(tx.durable)
    await office.clock.advance(600_000)
    expect(disk.opened).toBe(4)
  })

  test('is no longer said to fail once it has succeeded, though nothing was written or came since', async () => {
    const { office, disk, client } = await open()
    disk.refusals = 1
    disk.close('all')
    await office.clock.advance(100)
    expect([disk.opened, client.status.storage.reason]).toEqual([2, 'The engine closed it.'])
    await office.clock.advance(10_000)
    expect([disk.opened, client.status.storage.reason]).toEqual([3, undefined])
  })

  test('is given up after that, said, and tried anew for what is written next, up to 8 s later', async () => {
    const { office, disk, desk, client } = await open()
    desk.network.cut()
    await office.clock.advance(1_000)
    disk.close('nothing')
    disk.refusals = 3
    const lost = insert(client, '2')
    await expect(office.clock.until(lost.durable)).rejects.toMatchObject({ code: 'closed' })
    const { reason } = client.status.storage
    expect([disk.opened, lost.state, reason]).toEqual([4, 'failed', 'The engine closed it.'])
    const failedAt = office.clock.now()
    await office.clock.until(insert(client, '3').durable)
    expect(office.clock.now() - failedAt).toBe(8_000)
    desk.network.mend()
    await office.clock.advance(60_000)
    expect([disk.opened, client.status.storage.reason]).toEqual([5, undefined])
    expect(desk.log).toEqual(['error StorageError closed', 'reset repair'])
  })

  test('is tried anew for the next change, too, in a client that only reads', async () => {
    const { office, disk, desk, client } = await open()
    disk.close('nothing')
    disk.refusals = 3
    await office.insert('2')
    await office.clock.advance(30_000)
    expect([disk.opened, client.status.storage.reason]).toEqual([4, 'The engine closed it.'])
    await office.insert('3')
    await office.clock.advance(30_000)
    expect([disk.opened, client.status.storage.reason]).toEqual([5, undefined])
    expect(notes(await restarted(desk))).toEqual(await office.rows())
  })

  test('brings a client back that only reads, however often the engine closes it', async () => {
    const { office, disk, desk, client } = await open()
    for (let n = 2; n < 12; n += 1) {
      disk.close('nothing')
      await office.insert(`${n}`)
      await office.clock.advance(1_000)
    }
    await office.clock.advance(60_000)
    expect(client.status.storage).toEqual({ kind: 'memory' })
    expect(notes(await restarted(desk))).toEqual(await office.rows())
  })

  test('keeps what is written while the engine closes it once a second', async () => {
    const { office, disk, client } = await open()
    const written = []
    for (let n = 0; n < 30; n += 1) {
      disk.close('nothing')
      written.push(insert(client, `n${n}`))
      await office.clock.advance(1_000)
    }
    await office.clock.until(Promise.all(written.map(({ synced }) => synced)))
    expect(written.map(({ state }) => state)).toEqual(written.map(() => 'synced'))
  })

  test('is waited for by `close`, and what was written before is stored there', async () => {
    const { office, disk, desk, client } = await open()
    office.intercept = at('tx', async () => failure(503))
    const tx = insert(client, '2')
    await office.clock.until(tx.durable)
    disk.close('nothing')
    disk.refusals = 1
    await office.insert('3')
    await office.clock.advance(100)
    expect(disk.opened).toBe(2)
    await office.clock.until(client.close())
    const again = await restarted(desk)
    expect(again.outbox.list().map(({ id }) => id)).toEqual([tx.id])
  })

  test('ends with the client', async () => {
    const { office, disk, client } = await open()
    disk.close('nothing')
    disk.refusals = 1
    const tx = insert(client, '2')
    tx.durable.catch(() => {})
    await office.clock.until(client.close())
    expect(disk.opened).toBe(3)
  })
})
