import { defineModels, memoryStore, type Store } from 'instep'
import { expect, test } from 'vitest'
import { isObject } from '../../src/protocol/json.ts'
import { ClosableStore } from '../support/closable-store.ts'
import { perOrigin } from '../support/per-origin.ts'
import { watching } from '../support/watching-store.ts'
import { browser, idsIn, rolesOf } from './browser.ts'

const durable = (): Store => ({ ...memoryStore(), kind: 'durable', shared: perOrigin })

const insert = (id: string) => (m: { insert(t: string, record: { readonly id: string }): unknown }) =>
  m.insert('Item', { id })
/** Messages between tabs, of which `lose` loses the next one of `type`. */
function losing(type: string) {
  let isLosing = false
  return {
    lose: () => {
      isLosing = true
    },
    carry: (deliver: () => void, message: unknown) => {
      if (isLosing && isObject(message) && message.type === type) isLosing = false
      else void Promise.resolve().then(deliver)
    },
  }
}

test('invariant 42: five tabs hold one socket, and a change is fetched for all of them at once', async () => {
  const { server, device, open, insert, asked } = await browser()
  const tabs = [await open(), await open(), await open(), await open(), await open()]
  const before = asked('delta')
  await insert('i1')
  expect(tabs.map(idsIn)).toEqual(tabs.map(() => ['i0', 'i1']))
  expect(asked('delta') - before).toBeLessThanOrEqual(1)
  expect(device.network.sockets).toBe(1)
  await server.close()
})

test('a follower has the same status as the leader, except for the role', async () => {
  const { server, open } = await browser()
  const [first, second] = [await open(), await open()]
  const { role: _, ...shown } = first.client.status
  expect(second.client.status).toMatchObject(shown)
  await server.close()
})

test('invariant 39, invariant 68: a write in a follower is durable at once, and sent once by the leader', async () => {
  const { server, open, asked } = await browser()
  const [first, second] = [await open(), await open()]
  const written = first.client.mutate(insert('i1'))
  await server.clock.until(written.durable)
  await server.settle()
  expect(written.state).toBe('synced')
  expect(asked('tx')).toBe(1)
  expect(idsIn(second)).toEqual(['i0', 'i1'])
  await server.close()
})

test('what one tab writes offline, another tab shows', async () => {
  const { server, device, open } = await browser()
  const [first, second] = [await open(), await open()]
  device.disconnect()
  first.client.mutate(insert('i1'))
  await server.settle()
  expect(idsIn(second)).toEqual(['i0', 'i1'])
  expect(second.client.status.writes.pending).toBe(1)
  await server.close()
})

test('what one tab undoes offline is gone in another, and never reaches the server', async () => {
  const { server, device, open, asked } = await browser()
  const [first, second] = [await open(), await open()]
  device.disconnect()
  await server.settle()
  const written = first.client.mutate(insert('i1'))
  await server.settle()
  await server.clock.until(written.undo())
  await server.settle()
  expect(idsIn(second)).toEqual(['i0'])
  device.reconnect()
  await server.settle()
  expect(asked('tx')).toBe(0)
  await server.close()
})

test('a write that one tab synced does not count as pending in another', async () => {
  const { server, device, open } = await browser()
  const [first, second] = [await open(), await open()]
  await server.clock.until(first.client.mutate(insert('i1')).synced)
  device.disconnect()
  await server.settle()
  second.client.mutate(insert('i2'))
  await server.settle()
  expect(second.client.status.writes.pending).toBe(1)
  await server.close()
})

test('a refusal is in the inbox of every tab, and leaves them all when one discards it', async () => {
  const { server, open } = await browser()
  const [first, second] = [await open(), await open()]
  server.reject('forbidden')
  const written = first.client.mutate(insert('i1'))
  await server.settle()
  expect([first, second].map(({ client }) => client.status.writes.rejected)).toEqual([1, 1])
  await server.clock.until(second.client.outbox.discard(written.id))
  await server.settle()
  expect(first.client.status.writes.rejected).toBe(0)
  expect(written.state).toBe('discarded')
  await server.close()
})

test('`merge` is asked in one tab only', async () => {
  const { server, open } = await browser()
  let merges = 0
  const merge = () => {
    merges += 1
    return undefined
  }
  const first = await open({ merge })
  await open({ merge })
  server.reject('conflict')
  first.client.mutate(insert('i1'))
  await server.settle()
  expect(merges).toBe(1)
  await server.close()
})

test('the later write wins, although the clock was set back an hour between two tabs', async () => {
  const { server, open } = await browser()
  const clock = (aheadMs: number) => ({
    now: () => server.clock.now() + aheadMs,
    after: (ms: number, callback: () => void) => server.clock.after(ms, callback),
    pause: () => server.clock.pause(),
  })
  const first = await open({ environment: { clock: clock(3_600_000) } })
  const second = await open({ environment: { clock: clock(0) } })
  await server.clock.until(first.client.mutate((m) => m.update('Item', 'i0', { n: 1 })).durable)
  await server.clock.advance(50)
  second.client.mutate((m) => m.update('Item', 'i0', { n: 2 }))
  await server.settle()
  expect((await server.rows('ada'))[0]?.p).toMatchObject({ n: 2 })
  await server.close()
})

test('`resume` in a follower gives the leader the new token', async () => {
  const { server, open } = await browser()
  let token = server.token('ada')
  const options = { token: () => token }
  const [first, second] = [await open(options), await open(options)]
  server.revoke('ada')
  await server.settle()
  expect(first.client.status.connection.state).toBe('unauthenticated')
  token = server.token('ada')
  first.client.resume(token)
  await server.settle()
  expect(second.client.status.connection.state).toBe('socket')
  await server.close()
})

test('`sync` in a follower resolves once the leader has fetched and stored', async () => {
  const { server, open, asked } = await browser()
  const [first] = [await open(), await open()]
  const before = asked('delta')
  await server.clock.until(first.client.sync())
  expect(asked('delta') - before).toBe(1)
  await server.close()
})

test('`sync` in a follower rejects with the error of the leader', async () => {
  const { server, device, open } = await browser()
  const [first] = [await open(), await open()]
  device.disconnect()
  await server.settle()
  await expect(server.clock.until(first.client.sync())).rejects.toMatchObject({ code: 'unreachable' })
  await server.close()
})

test('invariant 69: a tab that misses the messages about changes is in step within 5 s', async () => {
  const carry = (deliver: () => void, message: unknown) => {
    if (!JSON.stringify(message).includes('"type":"delta"')) void Promise.resolve().then(deliver)
  }
  const { server, open, insert } = await browser({ carry })
  const [first] = [await open(), await open()]
  await insert('i1')
  await server.clock.advance(5_000)
  expect(idsIn(first)).toEqual(['i0', 'i1'])
  await server.close()
})

test('a large delta is read from the disk by the tabs that follow', async () => {
  const { server, open, asked } = await browser()
  const [first] = [await open(), await open()]
  const before = asked('delta')
  const ops = Array.from({ length: 500 }, (_, n) => ({ op: 'i' as const, t: 'Item', id: `x${n}`, p: {} }))
  await server.write(ops, 'ada')
  await server.settle()
  expect(first.client.count('Item')).toBe(501)
  expect(asked('delta') - before).toBeLessThanOrEqual(1)
  await server.close()
})

test('a new history at the server reaches every tab by one snapshot', async () => {
  const { server, open, insert, asked } = await browser()
  const tabs = [await open(), await open()]
  await insert('i1')
  const before = asked('bootstrap')
  server.changeEpoch()
  await server.settle()
  await insert('i2')
  expect(tabs.map(idsIn)).toEqual([
    ['i0', 'i1', 'i2'],
    ['i0', 'i1', 'i2'],
  ])
  expect(asked('bootstrap') - before).toBe(1)
  await server.close()
})

test.each([0, 400, 800, 1_200])(
  'invariant 40: a tab leads within 5 s when the leader stands still (after %s ms)',
  async (ms) => {
    const { server, open } = await browser()
    const [first, second] = [await open(), await open()]
    await server.clock.advance(ms)
    second.freeze()
    await server.clock.advance(5_000)
    expect(rolesOf(first)).toEqual(['leader'])
    await server.close()
  },
)

test('invariant 40: a tab leads within 5 s when another one takes the lead, and stands still before it says so', async () => {
  const { server, open } = await browser()
  const first = await open()
  const second = await open({ environment: { BroadcastChannel: undefined } })
  second.freeze()
  await server.clock.advance(5_000)
  expect(rolesOf(first)).toEqual(['leader'])
  await server.close()
})

test('invariant 40: a tab leads within 5 s when the one that it follows only asks who leads', async () => {
  let sendAsLeader = (_change: object) => {}
  const { server, open } = await browser({
    carry: (deliver, message) => {
      void Promise.resolve().then(deliver)
      if (!isObject(message) || message.type !== 'lead') return
      sendAsLeader = (change) => {
        Object.assign(message, change)
        deliver()
      }
    },
  })
  const [first, second] = [await open(), await open()]
  second.freeze()
  for (let seconds = 0; seconds < 5; seconds += 1) {
    sendAsLeader({ type: 'ask', number: 1_000 + seconds })
    await server.clock.advance(1_000)
  }
  expect(rolesOf(first)).toEqual(['leader'])
  await server.close()
})

test('invariant 70: what a follower wrote is sent by the next leader when the leader dies', async () => {
  const { server, device, open } = await browser()
  const [first, second] = [await open(), await open()]
  device.disconnect()
  const written = first.client.mutate(insert('i1'))
  await server.clock.until(written.durable)
  second.kill()
  void second.client.close()
  device.reconnect()
  await server.settle()
  expect(written.state).toBe('synced')
  await server.close()
})

test('invariant 41: a tab with another version of the models follows nobody, and is in step all the same', async () => {
  const { server, open, insert } = await browser()
  const older = await open({ models: defineModels({}, { version: 1 }) })
  await open({ models: defineModels({}, { version: 2, migrate: { 2: {} } }) })
  await insert('i1')
  expect(idsIn(older)).toEqual(['i0', 'i1'])
  await server.close()
})

test('tabs whose leader cannot store are in step all the same, and follow once it can', async () => {
  const inner = durable()
  let isFull = false
  const store = watching(inner, (options) => {
    if (isFull && options.mode === 'write') return Promise.reject(new Error('There is no room.'))
  })
  const { server, device, open, insert } = await browser({ store })
  const [first] = [await open(), await open()]
  isFull = true
  await insert('i1')
  await insert('i2')
  expect(idsIn(first)).toEqual(['i0', 'i1', 'i2'])
  await server.clock.advance(5_000)
  expect(device.network.sockets).toBe(2)
  isFull = false
  await insert('i3')
  await server.clock.advance(5_000)
  expect(device.network.sockets).toBe(1)
  await server.close()
})

test('a tab that was opened before there was any data shows the data that the leader fetches', async () => {
  const { server, device, open } = await browser()
  device.disconnect()
  const [first] = [await open(), await open()]
  device.reconnect()
  await server.settle()
  expect(idsIn(first)).toEqual(['i0'])
  await server.close()
})

test('a tab whose database another tab has deleted works in memory, says why, and keeps what is written', async () => {
  const store: Store = { ...memoryStore(), kind: 'durable', shared: perOrigin }
  const { server, device, open } = await browser({ store })
  const { client } = await open()
  device.disconnect()
  await server.settle()
  await store.destroy(`instep:${JSON.stringify([client.endpoints.bootstrapUrl, 'ada'])}`)
  const errors: unknown[] = []
  client.on('error', (error) => errors.push(error))
  const written = client.mutate(insert('i1'))
  await server.clock.advance(5_000)
  expect(client.status.storage).toMatchObject({ kind: 'memory', reason: expect.any(String) })
  expect(written.state).toBe('queued')
  expect(errors).toMatchObject([{ name: 'StorageError', code: 'closed' }])
  await server.close()
})

test('a write is sent although the leader missed the message that tells of it', async () => {
  const { carry, lose } = losing('outbox')
  const { server, open } = await browser({ carry })
  const [first] = [await open(), await open()]
  lose()
  const written = first.client.mutate(insert('i1'))
  await server.clock.advance(5_000)
  expect(written.state).toBe('synced')
  await server.close()
})

test('what was discarded leaves the inbox of a tab that missed the message, too', async () => {
  const { carry, lose } = losing('outbox')
  const { server, open } = await browser({ carry })
  const [first, second] = [await open(), await open()]
  server.reject('forbidden')
  const { id } = first.client.mutate(insert('i1'))
  await server.settle()
  lose()
  await server.clock.until(second.client.outbox.discard(id))
  await server.clock.advance(5_000)
  expect(first.client.status.writes.rejected).toBe(0)
  await server.close()
})

test.each(['sync', 'synced'])(
  '`sync` in a follower resolves although the message `%s` was lost',
  async (type) => {
    const { carry, lose } = losing(type)
    const { server, open } = await browser({ carry })
    const [first] = [await open(), await open()]
    lose()
    await expect(server.clock.until(first.client.sync())).resolves.toMatchObject({ kind: 'delta' })
    await server.close()
  },
)

test('`sync` in a follower resolves although another tab takes the lead before it is answered', async () => {
  const { carry, lose } = losing('synced')
  const { server, open, front } = await browser({ carry })
  const [first, second, third] = [await open(), await open(), await open()]
  lose()
  const synced = first.client.sync()
  await server.clock.advance(500)
  await front(second)
  third.kill()
  await expect(server.clock.until(synced)).resolves.toMatchObject({ kind: 'delta' })
  await server.close()
})

test('a tab that is looked at leads, although the last message of the former leader comes late', async () => {
  const inner = durable()
  let isSlow = false
  const { server, open, front } = await browser({
    store: {
      ...inner,
      open: async (name) => {
        if (isSlow) await new Promise<void>((resolve) => void server.clock.after(200, resolve))
        return inner.open(name)
      },
    },
    carry: (deliver) => {
      if (isSlow) void server.clock.after(100, deliver)
      else void Promise.resolve().then(deliver)
    },
  })
  const tabs = [await open(), await open()] as const
  isSlow = true
  // The new tab asks who leads, and all tabs hear the answer.
  const third = open({ visible: false })
  await server.clock.advance(350)
  await front(tabs[0])
  await third
  expect(rolesOf(...tabs)).toEqual(['leader', 'follower'])
  await server.close()
})

test('tabs follow a leader again after the user has deleted the stored data', async () => {
  const closable = new ClosableStore()
  const store: Store = { ...closable.store, kind: 'durable', shared: perOrigin }
  const { server, open, front } = await browser({ store })
  const [first, second] = [await open(), await open()]
  await front(first)
  closable.close('nothing')
  await server.clock.advance(10_000)
  const ops = Array.from({ length: 500 }, (_, n) => ({ op: 'i' as const, t: 'Item', id: `x${n}`, p: {} }))
  await server.write(ops, 'ada')
  await server.settle()
  expect(second.client.count('Item')).toBe(501)
  await server.close()
})

test('a tab that cannot read the disk opens one socket, however often others ask who leads', async () => {
  const inner = durable()
  let isBroken = false
  const broken = watching(inner, (options) => {
    const isRead = options.mode === 'read' && options.tables.includes('journal')
    if (isBroken && isRead) return Promise.reject(new Error('It cannot be read.'))
  })
  const { server, open, insert, front, asked } = await browser({ store: inner })
  const first = await open({ store: broken })
  const second = await open()
  await open()
  await front(second)
  isBroken = true
  const before = asked('ws')
  const ops = Array.from({ length: 500 }, (_, n) => ({ op: 'i' as const, t: 'Item', id: `x${n}`, p: {} }))
  await server.write(ops, 'ada')
  await server.clock.advance(60_000)
  expect(asked('ws') - before).toBe(1)
  await insert('i1')
  expect(first.client.count('Item')).toBe(502)
  await server.close()
})

test('what a closing tab wrote last is sent when another tab is looked at, although nobody was told', async () => {
  const { carry, lose } = losing('outbox')
  const { server, open, front } = await browser({ carry })
  const [first, second] = [await open({ visible: false }), await open()]
  lose()
  await server.clock.until(first.client.mutate(insert('i1')).durable)
  first.kill()
  void first.client.close()
  await front(second)
  expect(idsIn(second)).toEqual(['i0', 'i1'])
  expect(await server.rows('ada')).toHaveLength(2)
  await server.close()
})

test('what a dead leader did not remove from the disk is not sent again to a restored server', async () => {
  const inner = durable()
  let isDead = false
  const dying = watching(inner, (options) => {
    if (isDead && options.tables.includes('outbox')) return new Promise<void>(() => {})
  })
  const { server, open, asked } = await browser({ store: inner })
  const [first, second] = [await open(), await open({ store: dying })]
  const written = first.client.mutate(insert('i1'))
  while (asked('tx') === 0) await server.clock.advance(1)
  isDead = true
  await server.clock.until(written.synced)
  second.kill()
  void second.client.close()
  await server.clock.advance(1_000)
  await server.restore([{ op: 'i', t: 'Item', id: 'i0', p: {} }], 'ada')
  await server.settle()
  expect(idsIn(await open())).toEqual(['i0'])
  await server.close()
})

test('a tab that follows writes nothing to the disk for a write of another tab', async () => {
  const inner = durable()
  let writes = 0
  const counting = watching(inner, (options) => {
    if (options.mode === 'write') writes += 1
  })
  const { server, open } = await browser({ store: inner })
  const [, second] = [await open({ store: counting }), await open()]
  writes = 0
  await server.clock.until(second.client.mutate(insert('i1')).synced)
  await server.settle()
  expect(writes).toBe(0)
  await server.close()
})

/** Counts the transactions of a store. */
function counted(inner: Store) {
  const counts = { all: 0, strict: 0 }
  const store = watching(inner, ({ durability }) => {
    counts.all += 1
    if (durability === 'strict') counts.strict += 1
  })
  return { counts, store }
}

test('a write of the leader takes three transactions of the store until it is synced, and one flush', async () => {
  const { counts, store } = counted(durable())
  const { server, open } = await browser({ store })
  const [leader] = [await open(), await open({ visible: false })]
  Object.assign(counts, { all: 0, strict: 0 })
  await server.clock.until(leader.client.mutate(insert('i1')).synced)
  expect(counts).toEqual({ all: 3, strict: 1 })
  await server.clock.advance(2_000)
  expect(counts.all).toBe(3)
  await server.close()
})

test('a write of a follower takes three transactions of the store in both tabs together', async () => {
  const { counts, store } = counted(durable())
  const { server, open } = await browser({ store })
  const [, follower] = [await open(), await open({ visible: false })]
  Object.assign(counts, { all: 0, strict: 0 })
  await server.clock.until(follower.client.mutate(insert('i1')).synced)
  expect(counts).toEqual({ all: 3, strict: 1 })
  await server.close()
})

test('a hundred writes in one turn take six flushes at most', async () => {
  const { counts, store } = counted(durable())
  const { server, open } = await browser({ store })
  const { client } = await open()
  counts.strict = 0
  const written = Array.from({ length: 100 }, (_, n) => client.mutate(insert(`n${n}`)))
  await server.clock.until(Promise.all(written.map(({ synced }) => synced)))
  expect(counts.strict).toBeLessThanOrEqual(6)
  await server.close()
})

test('a process that is killed right after it has stored what it wrote shows no older value at the next start', async () => {
  const inner = durable()
  let isDead = false
  const dying = watching(inner, () => (isDead ? new Promise<void>(() => {}) : undefined))
  const { server, device, open } = await browser({ store: inner })
  const first = await open({ store: dying })
  await server.clock.until(first.client.mutate((m) => m.update('Item', 'i0', { title: 'mine' })).synced)
  await server.write([{ op: 'u', t: 'Item', id: 'i0', p: { title: 'theirs' } }], 'ada')
  while (first.client.get('Item', 'i0')?.title !== 'theirs') await server.clock.advance(1)
  await server.clock.advance(1)
  isDead = true
  first.kill()
  device.disconnect()
  expect((await open()).client.get('Item', 'i0')?.title).toBe('theirs')
  void first.client.close()
  await server.close()
})

test('a tab that follows sends what it finds no room for, also after it was offline', async () => {
  const inner = durable()
  let isFull = false
  const full = watching(inner, (options) => {
    if (isFull && options.mode === 'write')
      return Promise.reject(new DOMException('There is no room.', 'QuotaExceededError'))
  })
  const { server, open } = await browser({ store: inner })
  const [first] = [await open({ store: full }), await open()]
  for (const online of [false, true]) first.lifecycle.set({ online })
  await server.settle()
  isFull = true
  const written = first.client.mutate(insert('i1'))
  await server.clock.advance(5_000)
  expect(written.state).toBe('synced')
  await server.close()
})

test('what another tab undoes while this one reads the disk is undone here, too', async () => {
  const inner = durable()
  let reads = 0
  let onRead = (_: number): unknown => undefined
  const watched: Store = {
    ...inner,
    open: async (name) => {
      const connection = await inner.open(name)
      return {
        ...connection,
        transaction: async (options, body) => {
          if (options.mode === 'read' && options.tables.includes('outbox')) {
            reads += 1
            await onRead(reads)
          }
          return connection.transaction(options, body)
        },
      }
    },
  }
  const { carry, lose } = losing('outbox')
  const { server, device, open } = await browser({ store: inner, carry })
  const [first, second] = [await open({ store: watched }), await open()]
  device.disconnect()
  await server.settle()
  const written = first.client.mutate(insert('i1'))
  await server.settle()
  reads = 0
  onRead = (n) => {
    if (n !== 2) return undefined
    lose()
    return second.client.outbox.get(written.id)?.undo()
  }
  await server.clock.advance(5_000)
  expect(written.state).toBe('cancelled')
  await server.close()
})
