import { memoryStore, StorageError, type Store } from 'instep'
import { describe, expect, test } from 'vitest'
import { perOrigin } from '../support/per-origin.ts'
import { FullStore } from '../support/store-steps.ts'
import { around, writesOutbox } from '../support/watching-store.ts'
import { browser, idsIn } from './browser.ts'

const durable = (): Store => ({ ...memoryStore(), kind: 'durable', shared: perOrigin })
const never = () => new Promise<never>(() => {})

const insert = (id: string) => (m: { insert(t: string, record: { readonly id: string }): unknown }) =>
  m.insert('Item', { id })

/** The parts of a tab's environment, which do nothing any more once the tab `isDead`. */
function mortal({ clock, fetch }: Awaited<ReturnType<typeof browser>>['device']['environment']) {
  const life = { isDead: false }
  const environment = {
    clock: {
      now: () => clock.now(),
      pause: () => (life.isDead ? never() : clock.pause()),
      after: (ms: number, run: () => void) => clock.after(ms, () => !life.isDead && run()),
    },
    fetch: (...args: Parameters<typeof fetch>) => (life.isDead ? never() : fetch(...args)),
  }
  return { life, environment }
}

/**
 * A tab whose process ends right after `write` has stored a write, and the tab that leads. `onLeaderWrite`: called before
 * each write of the leader to the outbox.
 */
async function killed(onLeaderWrite = () => {}) {
  const inner = durable()
  const { server, device, open } = await browser({ store: inner })
  const { life, environment } = mortal(device.environment)
  let onWrite = () => {}
  const store = around(inner, async (options, run) => {
    if (life.isDead) return never()
    const result = await run()
    if (writesOutbox(options)) onWrite()
    return life.isDead ? never() : result
  })
  const other = await open({ store, environment })
  const leader = await open({
    store: around(inner, async (options, run) => {
      if (writesOutbox(options)) onLeaderWrite()
      return run()
    }),
  })
  const write = (id: string) => {
    onWrite = () => {
      life.isDead = true
      other.kill()
    }
    other.client.mutate(insert(id))
  }
  return { server, leader, write }
}

test('invariant 68: the write of a tab that is killed before it sends a message is sent within 10 s', async () => {
  const { server, leader, write } = await killed()
  write('i1')
  await server.clock.advance(11_000)
  expect(leader.client.status.role).toBe('leader')
  expect((await server.rows('ada')).map(({ id }) => id)).toEqual(['i0', 'i1'])
  await server.clock.advance(1_000)
  expect(idsIn(leader)).toEqual(['i0', 'i1'])
})

test('invariant 68: the write of a killed tab is sent within 10 s, though the disk has refused a write of the leader once', async () => {
  let isRefusing = true
  const { server, leader, write } = await killed(() => {
    if (isRefusing) throw new StorageError('aborted', 'An internal error, on purpose.')
  })
  leader.client.mutate(insert('i1'))
  await server.clock.advance(5_000)
  isRefusing = false
  await server.clock.advance(30_000)
  expect(leader.client.status.storage).toMatchObject({ kind: 'durable' })
  write('i2')
  await server.clock.advance(11_000)
  expect(leader.client.status.role).toBe('leader')
  expect((await server.rows('ada')).map(({ id }) => id)).toEqual(['i0', 'i1', 'i2'])
})

test('invariant 40: a tab that takes the lead while the disk hangs syncs and sends all the same', async () => {
  let isHanging = false
  const store = around(durable(), async (_, run) => (isHanging ? never() : run()))
  const { server, open } = await browser({ store })
  const tab = await open()
  const leader = await open()
  isHanging = true
  leader.kill()
  await server.clock.advance(60_000)
  await server.write([{ op: 'i', t: 'Item', id: 'i1', p: {} }], 'ada')
  tab.client.mutate(insert('i2'))
  await server.clock.advance(60_000)
  expect(tab.client.status.role).toBe('leader')
  expect(idsIn(tab)).toEqual(['i0', 'i1', 'i2'])
  expect((await server.rows('ada')).map(({ id }) => id)).toEqual(['i0', 'i1', 'i2'])
})

describe('a write that the disk commits without an answer', () => {
  async function hanging() {
    let isHanging = false
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const store = around(durable(), async (options, run) => {
      const result = isHanging && !writesOutbox(options) ? undefined : await run()
      if (!isHanging) return result
      await held
      return result ?? run()
    })
    const { server, device, open, close } = await browser({ store })
    const tab = await open()
    device.disconnect()
    await server.clock.advance(1_000)
    isHanging = true
    const written = tab.client.mutate(insert('i1'))
    await server.clock.advance(40_000)
    const heal = async () => {
      isHanging = false
      release()
      await server.clock.advance(60_000)
    }
    return { server, device, tab, written, heal, open, close }
  }

  test('invariant 18: stays shown and pending while the disk hangs', async () => {
    const { server, tab, written, heal } = await hanging()
    expect(written.state).toBe('queued')
    expect(idsIn(tab)).toEqual(['i0', 'i1'])
    expect(tab.client.status.writes.pending).toBe(1)
    await heal()
    await server.close()
  })

  test('invariant 18: is durable once the disk answers again, and sent once', async () => {
    const { server, device, tab, written, heal } = await hanging()
    await heal()
    expect(await server.clock.until(written.durable.then(() => 'durable'))).toBe('durable')
    device.reconnect()
    await server.clock.advance(60_000)
    expect(written.state).toBe('synced')
    expect((await server.rows('ada')).map(({ id }) => id)).toEqual(['i0', 'i1'])
    expect(idsIn(tab)).toEqual(['i0', 'i1'])
    await server.close()
  })
})

test('invariant 27: writes made while the disk hangs are sent in order, though it has committed the first of them', async () => {
  const hang = { isOn: false, release: () => {} }
  let hasCommitted = false
  const over = new Promise<void>((resolve) => {
    hang.release = resolve
  })
  const store = around(durable(), async (_, run) => {
    if (!hang.isOn) return run()
    const result = hasCommitted ? undefined : await run()
    hasCommitted = true
    await over
    return result ?? run()
  })
  const { server, device, open } = await browser({ store })
  const { client } = await open()
  device.disconnect()
  await server.clock.advance(1_000)
  hang.isOn = true
  const first = client.mutate(insert('i1'))
  await server.clock.advance(3_000)
  const second = client.mutate(insert('i2'))
  await server.clock.advance(42_000)
  hang.isOn = false
  hang.release()
  await server.clock.advance(60_000)
  device.reconnect()
  await server.clock.advance(60_000)
  expect([first.state, second.state]).toEqual(['synced', 'synced'])
  expect(await first.accepted).toBeLessThan(await second.accepted)
  await server.close()
})

describe('tabs whose database is deleted on purpose', () => {
  async function deleted() {
    const inner = memoryStore()
    let name = ''
    const { server, device, open, front } = await browser({
      store: {
        ...inner,
        kind: 'durable',
        shared: perOrigin,
        open: (opened) => {
          name = opened
          return inner.open(opened)
        },
      },
    })
    const [first, second] = [await open(), await open({ visible: false })]
    await inner.destroy(name)
    await server.clock.advance(1_000)
    device.disconnect()
    const written = second.client.mutate(insert('i1'))
    first.lifecycle.set({ visible: false })
    await front(second)
    await server.clock.advance(5_000)
    second.lifecycle.set({ visible: false })
    await front(first)
    await server.clock.advance(5_000)
    return { server, device, first, second, written }
  }

  test('invariant 31: go on in memory, whichever comes to the front', async () => {
    const { server, first, second } = await deleted()
    for (const { client } of [first, second]) {
      expect(client.status.lifecycle).toBe('running')
      expect(client.status.storage.kind).toBe('memory')
    }
    expect(idsIn(first)).toContain('i0')
    expect(idsIn(second)).toEqual(['i0', 'i1'])
    await server.close()
  })

  test('invariant 31: send what they write once they are online', async () => {
    const { server, device, first, second, written } = await deleted()
    expect(written.state).toBe('queued')
    device.reconnect()
    await server.clock.advance(60_000)
    expect(written.state).toBe('synced')
    expect(idsIn(first)).toEqual(['i0', 'i1'])
    expect(idsIn(second)).toEqual(['i0', 'i1'])
    await server.close()
  })
})

test.each(['leader', 'follower'] as const)(
  'invariant 33: without room beside the data, a write in the %s is durable: the data makes room for it',
  async (who) => {
    let isFull = false
    const store = around(durable(), async (options, run) => {
      const isAdding = writesOutbox(options) && !options.tables.includes('pages')
      if (isFull && isAdding) throw new StorageError('quota', 'The disk is full.')
      const result = await run()
      // The data is gone, and leaves its room.
      if (options.mode === 'write' && options.tables.includes('pages')) isFull = false
      return result
    })
    const { server, device, open } = await browser({ store })
    const [follower, leader] = [await open(), await open()]
    device.disconnect()
    await server.clock.advance(1_000)
    isFull = true
    const written = (who === 'leader' ? leader : follower).client.mutate(insert('i1'))
    expect(await server.clock.until(written.durable.then(() => 'durable'))).toBe('durable')
    device.reconnect()
    await server.clock.advance(60_000)
    expect((await server.rows('ada')).map(({ id }) => id)).toEqual(['i0', 'i1'])
    await server.close()
  },
)

test('invariant 33: a write in a tab is durable though the tab that took the lead had no room to say so', async () => {
  const disk = new FullStore()
  const { server, device, open } = await browser({
    store: { ...disk.store, kind: 'durable', shared: perOrigin },
  })
  const former = await open()
  device.disconnect()
  await server.clock.advance(1_000)
  disk.full = true
  await open()
  const written = former.client.mutate(insert('i1'))
  expect(await server.clock.until(written.durable.then(() => 'durable'))).toBe('durable')
  device.reconnect()
  await server.clock.advance(60_000)
  expect((await server.rows('ada')).map(({ id }) => id)).toEqual(['i0', 'i1'])
  await server.close()
})

test('a write is synced in its tab, too, if another tab has sent it before the disk answered', async () => {
  const inner = durable()
  const { server, device, open } = await browser({ store: inner })
  let trouble: 'none' | 'next write' | 'opening' = 'none'
  const watched = around(inner, async (options, run) => {
    const result = await run()
    if (trouble !== 'next write' || !writesOutbox(options)) return result
    trouble = 'opening'
    throw new StorageError('closed', 'The browser has closed it.', { retryable: true })
  })
  const store: Store = {
    ...watched,
    async open(name) {
      if (trouble === 'opening')
        await new Promise<void>((resolve) => device.environment.clock.after(4_000, resolve))
      return watched.open(name)
    },
  }
  const tab = await open({ store })
  await open()
  trouble = 'next write'
  const written = tab.client.mutate(insert('i1'))
  await server.clock.advance(60_000)
  expect((await server.rows('ada')).map(({ id }) => id)).toEqual(['i0', 'i1'])
  expect(written.state).toBe('synced')
  await server.close()
})
