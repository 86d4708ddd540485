import { memoryStore, type Store } from 'instep'
import { describe, expect, test } from 'vitest'
import type { TransactionOptions } from '../../src/storage/store.ts'
import { perOrigin } from '../support/per-origin.ts'
import { around, readsPages, writesOutbox } from '../support/watching-store.ts'
import { browser, idsIn, rolesOf, type Tab } from './browser.ts'

const durable = (): Store => ({ ...memoryStore(), kind: 'durable', shared: perOrigin })

const insert = (id: string) => (m: { insert(t: string, record: { readonly id: string }): unknown }) =>
  m.insert('Item', { id })

/** `inner`, which calls `act` in the middle of each transaction, and notes which ones were begun. */
function inTheMiddle(inner: Store) {
  const middle = { act: (_: TransactionOptions): unknown => undefined, begun: 0 }
  const store: Store = {
    ...inner,
    open: async (name) => {
      const connection = await inner.open(name)
      return {
        ...connection,
        transaction: (options, body) =>
          connection.transaction(options, (tx) => {
            middle.begun += 1
            const result = body(tx)
            if (result !== undefined) middle.act(options)
            return result
          }),
      }
    },
  }
  return { store, middle }
}

/** A leader that is put away in the middle of a write to the outbox, and a tab in the background. */
async function leftInTheMiddle() {
  const inner = durable()
  const { store, middle } = inTheMiddle(inner)
  const { server, open } = await browser({ store: inner })
  const [first, second] = [await open({ store }), await open({ visible: false })]
  const failures: unknown[] = []
  first.client.on('error', (error) => failures.push(error))
  first.client.on('storage', (storage) => failures.push(storage))
  middle.act = ({ tables, mode }) => {
    if (mode !== 'write' || !tables.includes('outbox')) return
    middle.act = () => {}
    first.leave()
    middle.begun = 0
  }
  const written = first.client.mutate(insert('i1'))
  await server.clock.advance(10)
  const end = async () => {
    await first.comeBack()
    await server.close()
  }
  return { server, first, second, written, middle, failures, end }
}

/** Whether a write in `tab` is durable within a second. */
async function canWrite({ clock }: { readonly clock: { advance(ms: number): Promise<void> } }, tab: Tab) {
  let isDurable = false
  void tab.client.mutate(insert('i2')).durable.then(() => {
    isDurable = true
  })
  await clock.advance(1_000)
  return isDurable
}

describe('a page that is frozen in the middle of a transaction', () => {
  test('invariant 30: does not block the writes of other tabs', async () => {
    const { server, second, end } = await leftInTheMiddle()
    expect(await canWrite(server, second)).toBe(true)
    await end()
  })

  test('invariant 40: lets another tab lead and send what it has written', async () => {
    const { server, second, written, end } = await leftInTheMiddle()
    await server.clock.advance(1_000)
    expect(rolesOf(second)).toEqual(['leader'])
    expect(idsIn(second)).toEqual(['i0', 'i1'])
    expect((await server.rows('ada')).map(({ id }) => id)).toEqual(['i0', 'i1'])
    expect(written.state).not.toBe('synced')
    await end()
  })

  test('invariant 37: begins none until it is back', async () => {
    const { server, first, middle, end } = await leftInTheMiddle()
    void first.client.mutate(insert('i2'))
    void first.client.sync().catch(() => {})
    await server.clock.advance(60_000)
    expect(middle.begun).toBe(0)
    await end()
  })

  test('invariant 37: has lost nothing when it is back, and reports no failure', async () => {
    const { server, first, second, written, failures, end } = await leftInTheMiddle()
    const meanwhile = first.client.mutate(insert('i2'))
    second.client.mutate(insert('i3'))
    await server.clock.advance(60_000)
    await first.comeBack()
    expect([written.state, meanwhile.state]).toEqual(['synced', 'synced'])
    expect(idsIn(first)).toEqual(['i0', 'i1', 'i2', 'i3'])
    expect(rolesOf(first, second)).toEqual(['leader', 'follower'])
    expect(failures).toEqual([])
    await end()
  })
})

test('what a page writes as the user leaves it is sent by the leader, although the page can tell nobody', async () => {
  const inner = durable()
  let onWrite = () => {}
  const store = around(inner, async (options, run) => {
    const result = await run()
    if (writesOutbox(options)) onWrite()
    return result
  })
  const { server, open } = await browser({ store: inner })
  const [left, leader] = [await open({ store }), await open()]
  onWrite = () => {
    onWrite = () => {}
    left.leave()
  }
  left.client.mutate(insert('i1'))
  await server.clock.advance(1_000)
  expect(rolesOf(leader)).toEqual(['leader'])
  expect((await server.rows('ada')).map(({ id }) => id)).toEqual(['i0', 'i1'])
  await left.comeBack()
  await server.close()
})

test('invariant 37: a page in the back/forward cache holds no connection, socket, lock or channel', async () => {
  const inner = durable()
  let open = 0
  const store: Store = {
    ...inner,
    open: async (name) => {
      open += 1
      const connection = await inner.open(name)
      const close = () => {
        open -= 1
        connection.close()
      }
      return { ...connection, close }
    },
  }
  const { server, device, open: openTab, insert: insertElsewhere } = await browser({ store })
  const tab = await openTab()
  tab.leave()
  await server.clock.advance(1_000)
  expect(open).toBe(0)
  expect(device.network.sockets).toBe(0)
  await insertElsewhere('i1')
  await tab.comeBack()
  expect(idsIn(tab)).toEqual(['i0', 'i1'])
  expect(tab.client.status.connection.state).toBe('socket')
  await server.close()
})

test('a page that has to read its data again shows nothing that was removed meanwhile', async () => {
  const inner = durable()
  const { server, open, insert: insertElsewhere } = await browser({ store: inner })
  await insertElsewhere('i1')
  const first = await open()
  let isFirst = true
  const twice = around(inner, async (options, run) => {
    if (!readsPages(options) || !isFirst) return run()
    isFirst = false
    await run()
    await server.write([{ op: 'd', t: 'Item', id: 'i1' }], 'ada')
    // The leader fetches a snapshot.
    server.changeEpoch()
    await server.clock.until(first.client.sync())
    return run()
  })
  // Without a channel, it does not follow, and so does not read again.
  const second = await open({ store: twice, visible: false, environment: { BroadcastChannel: undefined } })
  expect(idsIn(first)).toEqual(['i0'])
  expect(idsIn(second)).toEqual(['i0'])
  await server.close()
})

test.each([true, false])(
  'a page that comes back after the user has signed out ends, and shows nothing (deleted: %s)',
  async (isDeleted) => {
    const inner = durable()
    const { server, open } = await browser({
      store: isDeleted ? inner : { ...inner, destroy: () => Promise.reject(new Error('It is blocked.')) },
    })
    const first = await open()
    first.leave()
    const second = await open()
    const { silentTabs } = await server.clock.until(second.client.logout({ pending: 'discard' }))
    expect(silentTabs).toBe(0)
    await first.comeBack()
    expect(first.client.status.lifecycle).toBe('signed-out')
    expect(idsIn(first)).toEqual([])
    await server.close()
  },
)
