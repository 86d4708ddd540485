import { memoryStore, type Store, type SyncClient } from 'instep'
import { describe, expect, test } from 'vitest'
import { ClosableStore } from '../support/closable-store.ts'
import { ownServer } from '../support/own-server.ts'
import { perOrigin } from '../support/per-origin.ts'
import { watching } from '../support/watching-store.ts'

/** Two tabs of one browser: A was opened first, so that it does not store the data. Somebody else writes as the service. */
async function twoTabs(store = memoryStore()) {
  const server = ownServer()
  await server.write([{ op: 'i', t: 'Item', id: 'i1', p: { n: 0 } }], 'ada')
  await server.write([{ op: 'i', t: 'Item', id: 'i2', p: { n: 0 } }], 'ada')
  const device = server.device()
  const open = async () => {
    const tab = device.client({ identity: 'ada', store })
    await tab.start()
    await server.settle()
    return tab
  }
  const [a, b] = [await open(), await open()]
  return {
    server,
    device,
    a,
    b,
    open,
    write: (tab: SyncClient, n: number) => tab.mutate((m) => m.update('Item', 'i1', { n })),
    others: async (n: number) => {
      await server.write([{ op: 'u', t: 'Item', id: 'i1', p: { n } }])
      await server.settle()
    },
    front: () => {
      device.environment.lifecycle.set({ visible: false })
      device.environment.lifecycle.set({ visible: true })
    },
    stored: async () => (await server.rows('ada')).find(({ id }) => id === 'i1')?.p.n,
  }
}

const shownBy = (tab: SyncClient) => {
  const shown: unknown[] = []
  tab.on('change', () => shown.push(tab.get('Item', 'i1')?.n))
  return shown
}

describe.each(['online', 'offline'] as const)('a write that another tab has synced, %s', (network) => {
  async function anHourLater() {
    const scene = await twoTabs()
    const { server, device, a, b, write, others } = scene
    write(a, 1)
    await server.settle()
    await others(10)
    await server.clock.advance(3_600_000)
    if (network === 'offline') device.disconnect()
    await server.clock.advance(2_000)
    return { ...scene, shown: shownBy(b) }
  }

  test('invariant 28: is not shown over newer data when the tab becomes visible', async () => {
    const { server, b, shown, front } = await anHourLater()
    front()
    await server.clock.advance(5_000)
    expect(b.get('Item', 'i1')?.n).toBe(10)
    expect(shown).not.toContain(1)
  })

  test('is not shown over newer data when the tab writes something else', async () => {
    const { server, b, shown } = await anHourLater()
    b.mutate((m) => m.update('Item', 'i2', { n: 1 }))
    await server.clock.advance(5_000)
    expect(shown).not.toContain(1)
  })

  test('is not the base of a later write of the tab', async () => {
    const { server, device, b, front, stored } = await anHourLater()
    front()
    await server.clock.advance(5_000)
    b.mutate((m) => m.update('Item', 'i1', { n: Number(m.get('Item', 'i1')?.n) + 1 }))
    device.reconnect()
    await server.settle()
    expect(await stored()).toBe(11)
  })
})

test('invariant 21: a stored write that the data contains already is not shown, and ends on the disk', async () => {
  const inner = memoryStore()
  let name = ''
  const store: Store = {
    ...inner,
    shared: perOrigin,
    open(opened) {
      name = opened
      return inner.open(opened)
    },
  }
  const { server, a, b, others, open } = await twoTabs(store)
  await others(10)
  await server.clock.until(b.close())
  await server.clock.until(a.close())
  const { transaction } = await inner.open(name)
  const outbox = (id: string, value?: string) =>
    transaction({ tables: ['outbox'], mode: 'write' }, async (tx) => {
      if (value !== undefined) tx.put('outbox', id, value)
      return String(await tx.get('outbox', id))
    })
  const id = '019b76da-abe8-7000-838d-3115b67acbe1'
  const ops = [{ op: 'u', t: 'Item', id: 'i1', p: { n: 1 } }]
  const links = { before: [], bases: [], requires: [] }
  const stored = { id, key: id, state: 'accepted', at: 1, since: 1, sid: 2, ops, ...links, version: 1 }
  await outbox(id, JSON.stringify(stored))
  const tab = await open()
  await server.clock.advance(1_000)
  expect(tab.get('Item', 'i1')?.n).toBe(10)
  expect(tab.outbox.list()).toEqual([])
  expect(JSON.parse(await outbox(id))).toMatchObject({ id, state: 'synced' })
})

test('a write that was seen in the data is not sent again after a restore of the server', async () => {
  const { server, a, b, write, others, open, stored } = await twoTabs()
  await others(10)
  await server.clock.until(b.close())
  write(a, 1)
  await server.settle()
  await server.clock.until(a.close())
  await server.restore([{ op: 'i', t: 'Item', id: 'i1', p: { n: 7 } }], 'ada')
  const again = await open()
  expect(await stored()).toBe(7)
  expect(again.get('Item', 'i1')?.n).toBe(7)
})

test('an undo in a tab that has not heard of a restore of the server takes its write back', async () => {
  const { server, a, b, write, front, stored } = await twoTabs()
  await server.clock.until(a.stop())
  const tx = write(a, 1)
  await server.clock.until(tx.durable)
  front()
  await server.settle()
  expect(b.get('Item', 'i1')?.n).toBe(1)
  await server.restore([{ op: 'i', t: 'Item', id: 'i1', p: { n: 1 } }], 'ada')
  await server.clock.until(tx.undo())
  front()
  await server.settle()
  await a.start()
  await server.settle()
  expect(await stored()).toBe(0)
  expect(a.outbox.list()).toEqual([])
})

test('invariant 11: a write that was seen in the data is not sent again, even if the disk failed to remove it', async () => {
  const { server, device, write, stored } = await twoTabs()
  let isSlow = false
  const store = watching(memoryStore(), ({ mode, tables }) => {
    if (isSlow && mode === 'write' && tables.includes('journal')) throw new Error('The disk is slow.')
  })
  const tab = device.client({ identity: 'ada', store })
  await tab.start()
  await server.settle()
  isSlow = true
  write(tab, 1)
  await server.clock.advance(5_000)
  await server.clock.until(tab.close())
  isSlow = false
  await server.restore([{ op: 'i', t: 'Item', id: 'i1', p: { n: 7 } }], 'ada')
  const again = device.client({ identity: 'ada', store })
  await again.start()
  await server.settle()
  expect(await stored()).toBe(7)
})

test('a tab does not store a write again that another tab has synced and removed', async () => {
  const { server, device, a, b, write, others, front } = await twoTabs()
  await server.clock.until(a.stop())
  const tx = write(a, 1)
  await server.clock.until(tx.durable)
  b.mutate((m) => m.update('Item', 'i2', { n: 1 }))
  await server.settle()
  await others(10)
  await a.start()
  await server.settle()
  device.disconnect()
  const shown = shownBy(b)
  front()
  await server.clock.advance(5_000)
  expect(shown).not.toContain(1)
})

describe.each(['all', 'nothing'] as const)(
  'a tab that does not store, whose database is closed and keeps %s,',
  (left) => {
    async function closed(network: 'online' | 'offline') {
      const disk = new ClosableStore()
      const scene = await twoTabs(disk.store)
      const { server, device, a, b, others } = scene
      await others(1)
      await server.clock.until(b.close())
      if (network === 'offline') device.disconnect()
      await server.clock.advance(3_000)
      const before = a.mutate((m) => m.insert('Item', { id: 'before' }))
      await server.clock.until(before.durable)
      disk.close(left)
      await server.clock.advance(300_000)
      const after = a.mutate((m) => m.insert('Item', { id: 'after' }))
      await server.clock.advance(300_000)
      return { ...scene, after }
    }

    test('goes on writing', async () => {
      const { after } = await closed('online')
      expect(after.state).toBe('synced')
    })

    test('invariant 31, invariant 32: keeps its earlier and its later writes', async () => {
      const { server, a, open } = await closed('offline')
      await server.clock.until(a.close())
      const again = await open()
      expect(again.outbox.list().map(({ records }) => records[0]?.id)).toEqual(['before', 'after'])
    })
  },
)
