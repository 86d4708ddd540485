import { describe, expect, test } from 'vitest'
import { StorageError } from '../../src/base/errors.ts'
import { memoryStore, type Store, type SyncClient } from '../../src/index.ts'
import { mockSyncServer } from '../../src/testing/index.ts'
import { ClosableStore } from '../support/closable-store.ts'
import { shown } from '../support/device.ts'
import { around } from '../support/watching-store.ts'

const insert = (id: string) => ({ op: 'i' as const, t: 'Issue', id, p: {} })

/** `inner`, which refuses one transaction: the `n`-th after `arm(n)`. `refused`: whether it has. */
function refusing(inner: Store) {
  const disk = { refused: false, arm: (_: number) => {} }
  let left = 0
  disk.arm = (n) => {
    left = n
  }
  const store = around(inner, async (_, run) => {
    left -= 1
    if (left !== 0) return run()
    disk.refused = true
    throw new StorageError('aborted', 'The disk refuses one transaction.')
  })
  return { store, disk }
}

/** One device and one identity, with a session that is first Ada's and then Bob's. */
async function sharedDevice(store: Store) {
  const server = mockSyncServer()
  const device = server.device()
  const tokens = { ada: server.token('ada'), bob: server.token('bob') }
  const session: { user: 'ada' | 'bob' } = { user: 'ada' }
  await server.write([insert('of ada')], 'ada')
  await server.write([insert('of bob')], 'bob')
  const open = async (): Promise<SyncClient> => {
    const client = device.client({
      identity: 'ada',
      store,
      token: () => tokens[session.user],
      pollInterval: 60_000,
    })
    await server.clock.until(client.start())
    return client
  }
  const idsOf = async (user: string) => (await server.rows(user)).map(({ id }) => id).sort()
  return { server, device, session, open, idsOf }
}

/**
 * Ada writes offline and closes the client; Bob signs in; Ada is back. `arm`: called before each of the first two starts.
 * `stored`: the records on the disk after Bob's session.
 */
async function lifeOf(store: Store, arm: (start: 'first' | 'second') => void, writes = true) {
  const { server, device, session, open, idsOf } = await sharedDevice(store)
  arm('first')
  const first = await open()
  await server.clock.advance(10_000)
  await server.write([insert('of ada, too')], 'ada')
  await server.clock.advance(10_000)
  device.disconnect()
  let isDurable = false
  if (writes) {
    const { durable } = first.mutate((m) => m.insert('Issue', { id: 'typed by ada' }))
    durable.then(
      () => {
        isDurable = true
      },
      () => {},
    )
  }
  await server.clock.advance(20_000)
  await server.clock.until(first.close())
  device.reconnect()
  session.user = 'bob'
  arm('second')
  const second = await open()
  await server.clock.advance(60_000)
  const ofBob = await idsOf('bob')
  await server.clock.until(second.close())
  device.disconnect()
  const third = await open()
  const stored = Object.keys(shown(third))
  device.reconnect()
  session.user = 'ada'
  third.resume()
  await server.clock.advance(60_000)
  const ofAda = await idsOf('ada')
  await server.close()
  return { isDurable, ofBob, ofAda, stored }
}

describe.each([
  ['first', 12],
  ['second', 8],
] as const)('if the disk refuses one transaction of the %s start,', (which, count) => {
  test.each(Array.from({ length: count }, (_, n) => n + 1))(
    'invariant 44: the next user of the device sends nothing of the first one (transaction %s)',
    async (n) => {
      const { store, disk } = refusing({ ...memoryStore(), kind: 'durable' })
      const { isDurable, ofBob, ofAda, stored } = await lifeOf(
        store,
        (start) => start === which && disk.arm(n),
      )
      expect(disk.refused).toBe(true)
      expect(ofBob).toEqual(['of bob'])
      expect(stored).not.toContain('of bob')
      if (isDurable) expect(ofAda).toContain('typed by ada')
    },
  )
})

test.each([1, 2, 3, 4])(
  'invariant 44: the next user does not replace the data of the first one if the disk refuses one transaction (%s)',
  async (n) => {
    const { store, disk } = refusing({ ...memoryStore(), kind: 'durable' })
    const { stored } = await lifeOf(store, (start) => start === 'second' && disk.arm(n), false)
    expect(disk.refused).toBe(true)
    expect(stored.sort()).toEqual(['of ada', 'of ada, too'])
  },
)

test('invariant 44: a write that is stored again in an emptied database is not sent for the next user', async () => {
  const disk = new ClosableStore()
  const { server, device, session, open, idsOf } = await sharedDevice({ ...disk.store, kind: 'durable' })
  const first = await open()
  await server.clock.advance(10_000)
  device.disconnect()
  await server.clock.until(first.mutate((m) => m.insert('Issue', { id: 'typed by ada' })).durable)
  disk.close('nothing')
  await server.clock.advance(10_000)
  await server.clock.until(first.close())
  device.reconnect()
  session.user = 'bob'
  const second = await open()
  await server.clock.advance(60_000)
  expect(await idsOf('bob')).toEqual(['of bob'])
  session.user = 'ada'
  second.resume()
  await server.clock.advance(60_000)
  expect(await idsOf('ada')).toContain('typed by ada')
  await server.close()
})

describe('if the database opens late, after another user was answered,', () => {
  /** `isOnline`: whether the device is online when the database opens. */
  async function openLate(isOnline = false) {
    let isStuck = false
    const inner = memoryStore()
    const { server, device, session, open, idsOf } = await sharedDevice({
      kind: 'durable',
      open: (name) => (isStuck ? new Promise(() => {}) : inner.open(name)),
      destroy: (name) => inner.destroy(name),
    })
    const first = await open()
    await server.clock.advance(10_000)
    device.disconnect()
    await server.clock.until(first.mutate((m) => m.insert('Issue', { id: 'typed by ada' })).durable)
    await server.clock.until(first.close())
    device.reconnect()
    session.user = 'bob'
    isStuck = true
    const second = await open()
    await server.clock.advance(5_000)
    if (!isOnline) {
      device.disconnect()
      second.mutate((m) => m.insert('Issue', { id: 'typed by bob' }))
    }
    isStuck = false
    while (!shown(second)['of ada']) await server.clock.advance(10)
    device.reconnect()
    return { server, session, second, idsOf }
  }

  test('invariant 44: neither user sends what the other one has written', async () => {
    const { server, session, second, idsOf } = await openLate()
    await server.clock.advance(60_000)
    expect(await idsOf('bob')).not.toContain('typed by ada')
    session.user = 'ada'
    second.resume()
    await server.clock.advance(60_000)
    expect(await idsOf('ada')).toEqual(['of ada', 'typed by ada'])
    await server.close()
  })

  test('invariant 44: the client shows nothing more of what the socket of the other user brings', async () => {
    const { server, second } = await openLate(true)
    await server.write([insert('also of bob')], 'bob')
    await server.clock.advance(60_000)
    expect(Object.keys(shown(second))).not.toContain('also of bob')
    await server.close()
  })

  test('invariant 44: the client shows the data of the first user only', async () => {
    const { server, second } = await openLate()
    await server.clock.advance(60_000)
    expect(Object.keys(shown(second))).not.toContain('of bob')
    expect(Object.keys(shown(second))).toContain('of ada')
    expect(second.status.connection).toMatchObject({ error: { code: 'other_user' } })
    await server.close()
  })
})
