import { StorageError, type Store, type SyncClient } from 'instep'
import { describe, expect, test } from 'vitest'
import { ClosableStore } from '../support/closable-store.ts'
import { perOrigin } from '../support/per-origin.ts'
import { around, writesOutbox } from '../support/watching-store.ts'
import { browser, type Tab } from './browser.ts'

type Mutator = Parameters<Parameters<SyncClient['mutate']>[0]>[0]

/** Tabs of one browser, which evicts their database on demand, and of which none hears another one while `isDeaf`. */
async function browserThatEvicts() {
  const engine = new ClosableStore()
  const channel = { isDeaf: false }
  const store: Store = { ...engine.store, kind: 'durable', shared: perOrigin }
  const world = await browser({ store, carry: (deliver) => channel.isDeaf || deliver() })
  const { server, device } = world
  return {
    ...world,
    store,
    channel,
    async goOffline() {
      device.disconnect()
      await server.clock.advance(60_000)
    },
    async goOnline() {
      device.reconnect()
      await server.clock.advance(60_000)
    },
    async evict(ms = 5_000) {
      engine.close('nothing')
      await server.clock.advance(ms)
    },
    ids: async () => (await server.rows('ada')).map(({ id }) => id).sort(),
  }
}

/** `store`, which refuses as many of its next writes of transactions as `disk` says. */
function refusing(store: Store, disk: { refusals: number }): Store {
  return around(store, async (options, run) => {
    if (disk.refusals > 0 && writesOutbox(options) && options.tables.length === 1) {
      disk.refusals -= 1
      throw new StorageError('quota', 'There is no room.')
    }
    return run()
  })
}

const insert = (id: string) => (m: Mutator) => m.insert('Item', { id })
const retitle = (title: string) => (m: Mutator) => m.update('Item', 'i0', { title })

/** A write of `tab` is refused, and the browser goes offline. Returns what retries that write in a tab. */
async function refusedIn(tab: Tab, { server, goOffline }: Awaited<ReturnType<typeof browserThatEvicts>>) {
  server.reject('forbidden')
  const { id } = tab.client.mutate(insert('i1'))
  await server.clock.advance(20_000)
  await goOffline()
  return ({ client }: Tab, as: string) => client.outbox.retry(id, insert(as))
}

const labelsIn = ({ client }: Tab) => client.outbox.list().map(({ label }) => label)

test('the end of a write that was stored again leaves the refused write of another tab on the disk', async () => {
  const { server, device, open, goOffline, goOnline, evict } = await browserThatEvicts()
  const [first, second] = [await open(), await open({ visible: false })]
  await goOffline()
  const written = second.client.mutate(insert('i1'))
  await server.clock.until(written.durable)
  await server.clock.advance(1_000)
  first.leave()
  second.leave()
  await evict(0)
  device.reconnect()
  const third = await open()
  server.reject('forbidden')
  third.client.mutate(insert('i2'), { label: 'refused' })
  await server.clock.advance(20_000)
  await server.clock.until(third.client.close())
  device.disconnect()
  await first.comeBack()
  await server.clock.advance(5_000)
  server.loseResponse({ endpoint: 'tx', times: Number.POSITIVE_INFINITY })
  server.wrong(500, { endpoint: 'delta', times: Number.POSITIVE_INFINITY })
  device.reconnect()
  await server.clock.advance(1_000)
  device.disconnect()
  await server.clock.advance(5_000)
  first.leave()
  server.heal()
  await second.comeBack()
  await server.clock.advance(20_000)
  await goOnline()
  expect(written.state).toBe('synced')
  await server.clock.until(second.client.close())
  first.kill()
  const again = await open()
  await server.clock.advance(60_000)
  expect(labelsIn(again)).toEqual(['refused'])
  await server.close()
})

test('what was undone does not come back from a frozen tab, though the tab that undid it is closed', async () => {
  const { server, device, open, goOffline, evict, ids } = await browserThatEvicts()
  const [first, second] = [await open(), await open({ visible: false })]
  await goOffline()
  const written = second.client.mutate(insert('i1'))
  await server.clock.until(written.durable)
  await server.clock.advance(1_000)
  second.leave()
  await server.clock.until(Promise.resolve(first.client.outbox.get(written.id)?.undo()))
  await evict()
  await server.clock.until(first.client.close())
  device.reconnect()
  await second.comeBack()
  await server.clock.advance(60_000)
  expect(await ids()).toEqual(['i0'])
  await server.close()
})

test('what was undone does not come back, though the disk refuses the tab that undid it at first', async () => {
  const { server, store, open, goOffline, goOnline, evict, ids } = await browserThatEvicts()
  const disk = { refusals: 0 }
  const first = await open({ store: refusing(store, disk) })
  const second = await open({ visible: false })
  await goOffline()
  const written = second.client.mutate(insert('i1'))
  await server.clock.until(written.durable)
  await server.clock.advance(1_000)
  second.leave()
  await server.clock.until(Promise.resolve(first.client.outbox.get(written.id)?.undo()))
  first.leave()
  await evict(0)
  await second.comeBack()
  await server.clock.advance(5_000)
  disk.refusals = 2
  await first.comeBack()
  await server.clock.advance(20_000)
  await goOnline()
  expect(await ids()).toEqual(['i0'])
  await server.close()
})

describe('of two retries of one refused write around an eviction, one is sent', () => {
  async function refused() {
    const world = await browserThatEvicts()
    const [first, second] = [await world.open(), await world.open({ visible: false })]
    const retryIn = await refusedIn(second, world)
    second.leave()
    const retry = (tab: Tab, as: string) => world.server.clock.until(retryIn(tab, as).durable).catch(() => {})
    return { ...world, first, second, retry }
  }

  test('if the second one is made right after the frozen tab has come back', async () => {
    const { server, first, second, retry, evict, goOnline, ids } = await refused()
    await retry(first, 'r1')
    await evict()
    const back = second.comeBack()
    const retried = retry(second, 'r2')
    await back
    await retried
    await goOnline()
    expect(await ids()).toHaveLength(2)
    await server.close()
  })

  test('if the second one is made in the frozen tab', async () => {
    const { server, first, second, retry, evict, goOnline, ids } = await refused()
    void retry(second, 'r2')
    await retry(first, 'r1')
    await evict()
    await second.comeBack()
    await server.clock.advance(5_000)
    await goOnline()
    expect(await ids()).toHaveLength(2)
    await server.close()
  })
})

describe('a retry is sent', () => {
  async function refused() {
    const world = await browserThatEvicts()
    const tab = await world.open()
    const retryIn = await refusedIn(tab, world)
    return { ...world, tab, retry: () => retryIn(tab, 'r1') }
  }

  test('that is made in the moment of an eviction', async () => {
    const { server, retry, evict, goOnline, ids } = await refused()
    const evicted = evict(20_000)
    retry()
    await evicted
    await goOnline()
    expect(await ids()).toEqual(['i0', 'r1'])
    await server.close()
  })

  test('that is made when a frozen tab comes back after an eviction', async () => {
    const { server, tab, retry, evict, goOnline, ids } = await refused()
    tab.leave()
    await evict(0)
    const back = tab.comeBack()
    retry()
    await back
    await server.clock.advance(20_000)
    await goOnline()
    expect(await ids()).toEqual(['i0', 'r1'])
    await server.close()
  })
})

test('a write that a frozen tab has sent is taken back by an undo in the moment in which another tab comes back', async () => {
  const { server, device, open, goOffline, goOnline, evict, ids } = await browserThatEvicts()
  const [first, second] = [await open(), await open({ visible: false })]
  await goOffline()
  const written = second.client.mutate(insert('i1'))
  await server.clock.until(written.durable)
  await server.clock.advance(1_000)
  second.leave()
  server.loseResponse({ endpoint: 'tx', times: Number.POSITIVE_INFINITY })
  server.wrong(500, { endpoint: 'delta', times: Number.POSITIVE_INFINITY })
  device.reconnect()
  await server.clock.advance(60_000)
  expect(await ids()).toEqual(['i0', 'i1'])
  device.disconnect()
  await server.clock.advance(1_000)
  first.leave()
  await evict(0)
  const back = second.comeBack()
  const undone = written.undo()
  await back
  await server.clock.until(undone)
  await first.comeBack()
  server.heal()
  await goOnline()
  await server.clock.advance(60_000)
  expect(await ids()).toEqual(['i0'])
  await server.close()
})

test('a write that was stored without an answer, and is being sent since, stays before later ones', async () => {
  const { server, device, store, open, goOnline } = await browserThatEvicts()
  let answer: Promise<void> | undefined
  const silent = around(store, async (options, run) => {
    const awaited = writesOutbox(options) && options.tables.length === 1 ? answer : undefined
    const result = await run()
    if (!awaited) return result
    answer = undefined
    await awaited
    throw new StorageError('closed', 'The engine closed it.', { retryable: true })
  })
  const first = await open()
  const second = await open({ store: silent, visible: false })
  server.never({ endpoint: 'tx', times: Number.POSITIVE_INFINITY })
  answer = new Promise((resolve) => void server.clock.after(12_000, resolve))
  second.client.mutate(retitle('a'))
  await server.clock.advance(12_400)
  device.disconnect()
  await server.clock.advance(1_000)
  await server.clock.until(second.client.mutate(retitle('b')).durable)
  await server.clock.advance(1_000)
  await server.clock.until(first.client.mutate(insert('i1')).durable)
  await server.clock.advance(1_000)
  server.heal()
  await server.clock.until(first.client.close())
  second.lifecycle.set({ visible: true })
  await server.clock.advance(20_000)
  await goOnline()
  expect((await server.rows('ada')).find(({ id }) => id === 'i0')?.p).toMatchObject({ title: 'b' })
  await server.close()
})

test('what a tab wrote right after an eviction, before it was killed, is sent', async () => {
  const { server, open, channel, goOffline, goOnline, evict, ids } = await browserThatEvicts()
  const [first, second] = [await open(), await open({ visible: false })]
  await goOffline()
  await server.clock.until(first.client.mutate(insert('i1')).durable)
  await server.clock.advance(1_000)
  second.lifecycle.freeze()
  await server.clock.until(first.client.mutate(insert('i2')).durable)
  await evict(30_000)
  channel.isDeaf = true
  second.lifecycle.resume()
  await server.clock.until(second.client.mutate(insert('i3')).durable)
  second.kill()
  channel.isDeaf = false
  void second.client.stop()
  await server.clock.advance(15_000)
  await goOnline()
  expect(await ids()).toEqual(['i0', 'i1', 'i2', 'i3'])
  await server.close()
})

test('a write that is undone while the disk refuses it was cancelled in time', async () => {
  const { server, store, open, goOffline } = await browserThatEvicts()
  const disk = { refusals: 0 }
  const { client } = await open({ store: refusing(store, disk) })
  await goOffline()
  disk.refusals = 2
  const undone = client.mutate(insert('i1')).undo()
  await server.clock.advance(20_000)
  expect(await undone).toBeUndefined()
  await server.close()
})

test('writes that the disk has refused keep their order after an eviction', async () => {
  const { server, store, open, goOffline, evict } = await browserThatEvicts()
  const disk = { refusals: 0 }
  const tab = await open({ store: refusing(store, disk) })
  const write = (id: string) => tab.client.mutate(insert(id), { label: id })
  await goOffline()
  await server.clock.until(write('i1').durable)
  disk.refusals = 2
  write('i2')
  await server.clock.advance(5_000)
  const evicted = evict()
  write('i3')
  await evicted
  await server.clock.advance(20_000)
  await server.clock.until(tab.client.close())
  expect(labelsIn(await open())).toEqual(['i1', 'i2', 'i3'])
  await server.close()
})

test('a write that the disk refuses stays behind one that the disk has stored without an answer', async () => {
  const { server, store, open, goOffline } = await browserThatEvicts()
  const disk = { refusals: 0, losses: 0 }
  const silent = around(store, async (options, run) => {
    if (!writesOutbox(options) || options.tables.length > 1) return run()
    if (disk.losses === 0 && disk.refusals > 0) {
      disk.refusals -= 1
      throw new StorageError('quota', 'There is no room.')
    }
    const result = await run()
    if (disk.losses === 0) return result
    disk.losses -= 1
    throw new StorageError('aborted', 'The engine gave no answer.')
  })
  const tab = await open({ store: silent })
  const write = (id: string) => tab.client.mutate(insert(id), { label: id })
  await goOffline()
  await server.clock.until(write('i1').durable)
  Object.assign(disk, { losses: 1, refusals: 2 })
  write('i2')
  await Promise.resolve()
  await Promise.resolve()
  write('i3')
  await server.clock.advance(30_000)
  await server.clock.until(tab.client.close())
  expect(labelsIn(await open())).toEqual(['i1', 'i2', 'i3'])
  await server.close()
})
