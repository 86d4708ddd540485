import { isSyncError, memoryStore, StorageError, type Store, type SyncClient, type Transaction } from 'instep'
import { describe, expect, test } from 'vitest'
import { ClosableStore } from '../support/closable-store.ts'
import { perOrigin } from '../support/per-origin.ts'
import { FullStore } from '../support/store-steps.ts'
import { around, writesOutbox } from '../support/watching-store.ts'
import { type BrowserOptions, browser, idsIn, type OpenOptions, rolesOf, type Tab } from './browser.ts'

const insert = (id: string) => (m: { insert(t: string, record: { readonly id: string }): unknown }) =>
  m.insert('Item', { id })

const lifecycles = (...tabs: readonly Tab[]) => tabs.map(({ client }) => client.status.lifecycle)
const sentIn = (server: { readonly requests: readonly { readonly endpoint: string }[] }) =>
  server.requests.filter(({ endpoint }) => endpoint === 'tx').length

/** Three tabs of which the last leads; with what waits in them. */
async function three({ hasChannel, ...options }: OpenOptions & Pick<BrowserOptions, 'hasChannel'> = {}) {
  const world = await browser({ hasChannel })
  const { server, device } = world
  const tabs = [await world.open(options), await world.open(options), await world.open(options)] as const
  const ids = async () => (await server.rows('ada')).map(({ id }) => id).sort()
  return {
    ...world,
    tabs,
    ids,
    /** One transaction is rejected, two are written offline, in different tabs. */
    async leaveWrites() {
      server.reject('forbidden')
      tabs[0].client.mutate(insert('parked'))
      await server.settle()
      device.disconnect()
      await server.settle()
      tabs[0].client.mutate(insert('p0'))
      tabs[1].client.mutate(insert('p1'))
      await server.settle()
    },
    logout: (client: SyncClient, given?: Parameters<SyncClient['logout']>[0]) =>
      server.clock.until(client.logout(given)),
  }
}

const ways = [
  ['the leader', 2],
  ['a follower', 0],
] as const

test.each(ways)('`logout` in %s ends every tab, which then shows nothing', async (_, which) => {
  const { server, tabs, logout } = await three()
  const result = await logout(tabs[which].client)
  expect(result).toEqual({ sent: 0, kept: 0, discarded: 0, rejected: 0, silentTabs: 0 })
  expect(lifecycles(...tabs)).toEqual(['signed-out', 'signed-out', 'signed-out'])
  expect(tabs.map(idsIn)).toEqual([[], [], []])
  expect(tabs.map(({ client }) => client.status.data.state)).toEqual(['none', 'none', 'none'])
  await server.close()
})

test.each(ways)(
  'invariant 45: `logout` in %s without a choice counts what is unsent and rejected in all tabs, and changes nothing',
  async (_, which) => {
    const { server, device, tabs, ids, logout, leaveWrites } = await three()
    await leaveWrites()
    const refused = logout(tabs[which].client)
    await expect(refused).rejects.toMatchObject({ name: 'PendingError', pending: 2, rejected: 1 })
    expect(lifecycles(...tabs)).toEqual(['running', 'running', 'running'])
    device.reconnect()
    await server.settle()
    expect(await ids()).toEqual(['i0', 'p0', 'p1'])
    expect(tabs[1].client.status.writes).toMatchObject({ pending: 0, rejected: 1 })
    await server.close()
  },
)

test.each(ways)(
  'invariant 72: `logout` in %s with `discard` deletes what is unsent and rejected in all tabs, and sends nothing',
  async (_, which) => {
    const { server, device, tabs, ids, open, logout, leaveWrites } = await three()
    await leaveWrites()
    const sent = sentIn(server)
    const result = await logout(tabs[which].client, { pending: 'discard' })
    expect(result).toEqual({ sent: 0, kept: 0, discarded: 3, rejected: 1, silentTabs: 0 })
    device.reconnect()
    const next = await open()
    await server.clock.advance(60_000)
    expect(next.client.outbox.list()).toEqual([])
    expect(await ids()).toEqual(['i0'])
    expect(sentIn(server)).toBe(sent)
    await server.close()
  },
)

test.each(ways)(
  'invariant 72: `logout` in %s with `keep` leaves all for the next client of the same user, which sends it once',
  async (_, which) => {
    const { server, device, tabs, ids, open, logout, leaveWrites } = await three()
    await leaveWrites()
    const result = await logout(tabs[which].client, { pending: 'keep' })
    expect(result).toEqual({ sent: 0, kept: 3, discarded: 0, rejected: 1, silentTabs: 0 })
    device.reconnect()
    await server.clock.advance(60_000)
    expect(await ids()).toEqual(['i0'])
    const next = await open()
    await server.settle()
    expect(await ids()).toEqual(['i0', 'p0', 'p1'])
    expect(next.client.status.writes).toEqual({ pending: 0, rejected: 1 })
    await server.close()
  },
)

test.each(ways)('`logout` in %s with `flush` sends the writes of all tabs first', async (_, which) => {
  const { server, device, tabs, ids, logout } = await three()
  device.disconnect()
  await server.settle()
  tabs[0].client.mutate(insert('p0'))
  tabs[1].client.mutate(insert('p1'))
  await server.settle()
  device.reconnect()
  await server.clock.advance(1)
  const result = await logout(tabs[which].client, { pending: 'flush' })
  expect(result).toEqual({ sent: 2, kept: 0, discarded: 0, rejected: 0, silentTabs: 0 })
  expect(await ids()).toEqual(['i0', 'p0', 'p1'])
  expect(lifecycles(...tabs)).toEqual(['signed-out', 'signed-out', 'signed-out'])
  await server.close()
})

test('invariant 45: `flush` rejects at once while offline, and changes nothing', async () => {
  const { server, tabs, logout, leaveWrites } = await three()
  await leaveWrites()
  const before = server.clock.now()
  const refused = logout(tabs[0].client, { pending: 'flush' })
  await expect(refused).rejects.toMatchObject({ code: 'pending', pending: 2, rejected: 1 })
  expect(server.clock.now() - before).toBeLessThan(1_000)
  expect(lifecycles(...tabs)).toEqual(['running', 'running', 'running'])
  await server.close()
})

test('`flush` rejects when its time is over, and changes nothing', async () => {
  const { server, tabs, logout } = await three()
  server.wrong(503, { endpoint: 'tx', times: Number.POSITIVE_INFINITY })
  tabs[0].client.mutate(insert('p0'))
  const refused = logout(tabs[1].client, { pending: 'flush', timeoutMs: 3_000 })
  await expect(refused).rejects.toMatchObject({ code: 'pending', pending: 1, rejected: 0 })
  expect(tabs[2].client.status.writes.pending).toBe(1)
  await server.close()
})

test('`flush` rejects when the server rejects a write: what becomes of that one is to be chosen', async () => {
  const { server, tabs, logout } = await three()
  server.reject('forbidden')
  tabs[0].client.mutate(insert('parked'))
  const refused = logout(tabs[1].client, { pending: 'flush' })
  await expect(refused).rejects.toMatchObject({ code: 'pending', pending: 0, rejected: 1 })
  await server.close()
})

test('invariant 72: the tabs of another identity go on as they were', async () => {
  const { server, tabs, open, logout } = await three()
  await server.write([{ op: 'i', t: 'Item', id: 'b0', p: {} }], 'bob')
  const other = await open({ identity: 'bob' })
  await logout(tabs[0].client, { pending: 'discard' })
  expect(other.client.status.lifecycle).toBe('running')
  expect(idsIn(other)).toEqual(['b0'])
  await server.clock.until(other.client.mutate(insert('b1')).synced)
  await server.close()
})

test('every call of a client whose user has signed out is refused', async () => {
  const { server, tabs, logout } = await three()
  await logout(tabs[0].client)
  const refusal = { name: 'ClosedError', code: 'signed_out' }
  for (const { client } of tabs) {
    expect(() => client.mutate(insert('x'))).toThrow(expect.objectContaining(refusal))
    await expect(client.sync()).rejects.toMatchObject(refusal)
    await expect(client.ready()).rejects.toMatchObject(refusal)
    await expect(client.start()).rejects.toMatchObject(refusal)
    await expect(client.logout()).rejects.toMatchObject(refusal)
  }
  await server.close()
})

test('what waits in a client whose user has signed out rejects and says so', async () => {
  const { server, device, tabs, logout } = await three()
  device.disconnect()
  await server.settle()
  const written = tabs[0].client.mutate(insert('p0'))
  const { synced } = written
  await server.settle()
  await logout(tabs[1].client, { pending: 'discard' })
  await expect(synced).rejects.toMatchObject({ name: 'ClosedError', code: 'signed_out' })
  await server.close()
})

test.each([true, false])(
  'a client that was never started can sign out, and the tabs end (channel: %s)',
  async (hasChannel) => {
    const { server, device, ids, idle, logout, leaveWrites } = await three({ hasChannel })
    await leaveWrites()
    const client = idle()
    await expect(logout(client)).rejects.toMatchObject({ pending: 2, rejected: 1 })
    expect(await logout(client, { pending: 'discard' })).toMatchObject({ discarded: 3, silentTabs: 0 })
    device.reconnect()
    await server.clock.advance(120_000)
    expect(await ids()).toEqual(['i0'])
    await server.close()
  },
)

const thawed = [
  ['leads', 2],
  ['follows', 0],
] as const

test.each(thawed)(
  'invariant 44: what a frozen tab that %s had and writes after the user signed out is never sent, fails, and is exported',
  async (_, which) => {
    const { server, device, tabs, ids, open } = await three()
    const frozen = tabs[which]
    device.disconnect()
    await server.settle()
    tabs[1].client.mutate(insert('before'))
    await server.settle()
    frozen.freeze()
    const result = tabs[1].client.logout({ pending: 'discard' })
    await server.clock.advance(100)
    const late = frozen.client.mutate(insert('late'))
    const told: Transaction['state'][] = []
    late.subscribe(({ state }) => told.push(state))
    expect(await server.clock.until(result)).toMatchObject({ discarded: 1, silentTabs: 1 })
    device.reconnect()
    await server.clock.advance(20_000)
    expect(await ids()).toEqual(['i0'])
    expect(frozen.client.status.lifecycle).toBe('signed-out')
    expect(late.state).toBe('failed')
    expect(told.at(-1)).toBe('failed')
    expect(late.rejection?.reason).toBe('signed_out')
    const { failed } = await frozen.client.outbox.export()
    expect(failed.map(({ id }) => id)).toContain(late.id)

    const next = await open()
    await server.clock.advance(20_000)
    expect(await ids()).toEqual(['i0'])
    const exported = await next.client.outbox.export()
    expect(exported.transactions).toEqual([])
    expect(exported.failed.map(({ id }) => id)).toEqual([late.id])
    await server.close()
  },
)

test('a tab that comes back from the back/forward cache ends, and shows nothing', async () => {
  const { server, tabs, front, logout } = await three()
  tabs[0].lifecycle.set({ visible: false })
  tabs[0].lifecycle.freeze()
  expect(await logout(tabs[1].client)).toMatchObject({ silentTabs: 0 })
  await front(tabs[0])
  await server.clock.advance(10_000)
  expect(idsIn(tabs[0])).toEqual([])
  await server.close()
})

test('a frozen tab whose user signs in again in another tab ends, and leaves the lead to that one', async () => {
  const { server, tabs, open, front, logout } = await three()
  tabs[0].freeze()
  await logout(tabs[1].client)
  const next = await open()
  await front(tabs[0])
  await server.clock.advance(10_000)
  expect(lifecycles(tabs[0], next)).toEqual(['signed-out', 'running'])
  expect(rolesOf(next)).toEqual(['leader'])
  expect(idsIn(next)).toEqual(['i0'])
  await server.close()
})

test.each([
  ['is deleted once every tab has ended', false, 1],
  ['stays, empty, while a frozen tab that nobody has heard of has it open', true, 0],
])('the database of a user who has signed out %s', async (_, isFrozen, deleted) => {
  const memory = memoryStore()
  const destroyed: string[] = []
  const destroy = async (name: string) => void destroyed.push(name)
  const { open, server } = await browser({
    store: { ...memory, kind: 'durable', shared: perOrigin, destroy },
  })
  const other = await open()
  if (isFrozen) other.freeze()
  const { client } = await open()
  const result = await server.clock.until(client.logout())
  expect(result).toMatchObject({ silentTabs: 0 })
  expect(destroyed).toHaveLength(deleted)
  await server.close()
})

test('nothing is left of the user on the disk', async () => {
  const { tabs, logout, stored } = await three()
  await logout(tabs[0].client)
  expect(await stored()).toEqual([])
})

test('what was synced before the user signs out is not counted', async () => {
  const { server, tabs, logout } = await three()
  await server.clock.until(tabs[0].client.mutate(insert('done')).synced)
  const result = await logout(tabs[1].client)
  expect(result).toMatchObject({ sent: 0, kept: 0, discarded: 0 })
  await server.close()
})

test.each(ways)(
  'invariant 72: what the server has just accepted is not unsent for `logout` in %s, though the data does not show it yet',
  async (_, which) => {
    const { server, tabs, logout } = await three()
    server.hold()
    await server.clock.until(tabs[2].client.mutate(insert('p0')).accepted)
    await server.clock.advance(20)
    expect(await logout(tabs[which].client, { pending: 'keep' })).toMatchObject({ kept: 0 })
    await server.close()
  },
)

test('of two tabs in which the user signs out at once, one does it', async () => {
  const { server, tabs } = await three()
  const both = [tabs[0], tabs[1]].map(({ client }) => client.logout().catch((error) => error))
  const results = await server.clock.until(Promise.all(both))
  expect(results.filter((result) => !isSyncError(result))).toHaveLength(1)
  expect(results.find((result) => isSyncError(result))).toMatchObject({ code: 'signed_out' })
  await server.close()
})

test('what another tab keeps at the sign-out has not failed in a tab that had no room when it opened', async () => {
  const disk = new FullStore()
  disk.full = true
  const { server, device, open } = await browser({
    store: { ...disk.store, kind: 'durable', shared: perOrigin },
  })
  const leader = await open()
  device.disconnect()
  disk.full = false
  const tab = await open({ visible: false })
  const kept = tab.client.mutate(insert('i1'))
  await server.clock.until(kept.durable)
  leader.client.mutate(insert('i2'))
  await server.clock.advance(15_000)
  const there = leader.client.outbox.get(kept.id)
  await server.clock.until(tab.client.logout({ pending: 'keep' }))
  await server.clock.advance(20_000)
  leader.client.mutate(insert('i3'))
  await server.clock.advance(15_000)
  expect(there?.state).not.toBe('failed')
  device.reconnect()
  await open()
  await server.clock.advance(60_000)
  expect((await server.rows('ada')).map(({ id }) => id)).toEqual(['i0', 'i1', 'i2'])
  await server.close()
})

describe('an unsent write that the browser evicts during `logout`', () => {
  async function evicting() {
    const engine = new ClosableStore()
    let isNext = false
    const store = around({ ...engine.store, kind: 'durable', shared: perOrigin }, async (options, run) => {
      if (isNext && options.tables.length > 3 && options.mode === 'write') {
        isNext = false
        engine.close('nothing')
      }
      return run()
    })
    const world = await browser({ store })
    const { server, device, open } = world
    const { client } = await open()
    device.disconnect()
    await server.clock.advance(60_000)
    await server.clock.until(client.mutate(insert('i1')).durable)
    isNext = true
    return { ...world, client }
  }

  test('makes it refuse if nothing is chosen', async () => {
    const { server, client } = await evicting()
    const refused = server.clock.until(client.logout().catch((error: unknown) => error))
    expect(await refused).toMatchObject({ name: 'PendingError' })
    await server.close()
  })

  test('is kept if `keep` is chosen', async () => {
    const { server, device, open, client } = await evicting()
    await server.clock.until(client.logout({ pending: 'keep' }))
    device.reconnect()
    await open()
    await server.clock.advance(60_000)
    expect((await server.rows('ada')).map(({ id }) => id)).toEqual(['i0', 'i1'])
    await server.close()
  })
})

test('`logout` keeps an evicted write and the write that another tab has made since', async () => {
  const engine = new ClosableStore()
  const durable: Store = { ...engine.store, kind: 'durable', shared: perOrigin }
  let isFull = false
  const store = around(durable, async (options, run) => {
    if (isFull && writesOutbox(options) && options.tables.length < 4)
      throw new StorageError('quota', 'There is no room.')
    return run()
  })
  const { server, device, open } = await browser({ store: durable })
  const tab = await open({ store })
  device.disconnect()
  await server.clock.advance(60_000)
  await server.clock.until(tab.client.mutate(insert('i1')).durable)
  isFull = true
  tab.leave()
  engine.close('nothing')
  const fresh = await open()
  await server.clock.until(fresh.client.mutate(insert('i2')).durable)
  await server.clock.until(fresh.client.close())
  await tab.comeBack()
  await server.clock.advance(5_000)
  await server.clock.until(tab.client.logout({ pending: 'keep' }))
  device.reconnect()
  await open()
  await server.clock.advance(60_000)
  expect((await server.rows('ada')).map(({ id }) => id).sort()).toEqual(['i0', 'i1', 'i2'])
  await server.close()
})
