import { getEventListeners } from 'node:events'
import { describe, expect, test, vi } from 'vitest'
import { withTimeLimits } from '../../src/storage/deadline.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import type { Store, StoreConnection } from '../../src/storage/store.ts'
import { settle, VirtualClock } from '../support/virtual.ts'

const limits = { openMs: 1_000, transactionMs: 2_000 }
const writing = { tables: ['meta'], mode: 'write' } as const
const never = () => new Promise<never>(() => {})

async function setUp() {
  const clock = new VirtualClock()
  const store = withTimeLimits(memoryStore(), clock, limits)
  const connection = await store.open('db')
  return { clock, store, connection }
}

/** A store of which nothing is answered until the test does it. */
function silentStore() {
  let answer: (connection: StoreConnection) => void = () => {}
  const store: Store = {
    kind: 'durable',
    open: () => new Promise((resolve) => (answer = resolve)),
    destroy: never,
  }
  return { store, answer: (connection: StoreConnection) => answer(connection) }
}

describe('invariant 30: every promise of a store settles in bounded time', () => {
  test.each(['open', 'destroy'] as const)('%s without any event', async (method) => {
    const clock = new VirtualClock()
    const settled = vi.fn()
    withTimeLimits(silentStore().store, clock, limits)[method]('db').catch(settled)
    await clock.advance(999)
    expect(settled).not.toHaveBeenCalled()
    await clock.advance(1)
    expect(settled).toHaveBeenCalledWith(expect.objectContaining({ name: 'StorageError', code: 'blocked' }))
    expect(clock.timers).toBe(0)
  })

  test('by default opening has 10 s, and a transaction 15 s', async () => {
    const clock = new VirtualClock()
    const connection = await withTimeLimits(memoryStore(), clock).open('db')
    const settled = vi.fn()
    withTimeLimits(silentStore().store, clock).open('db').catch(settled)
    connection.transaction(writing, never).catch(settled)
    for (const [ms, count] of [
      [9_999, 0],
      [1, 1],
      [4_999, 1],
      [1, 2],
    ] as const) {
      await clock.advance(ms)
      expect(settled).toHaveBeenCalledTimes(count)
    }
  })

  test('a connection that opens too late is closed', async () => {
    const clock = new VirtualClock()
    const { store, answer } = silentStore()
    const opening = withTimeLimits(store, clock, limits).open('db')
    opening.catch(() => {})
    await clock.advance(1_000)
    const late = await memoryStore().open('db')
    answer(late)
    await clock.advance(0)
    await expect(late.transaction(writing, async () => {})).rejects.toMatchObject({ code: 'closed' })
  })

  test('a transaction that never ends is aborted, and those behind it get their turn', async () => {
    const { clock, connection } = await setUp()
    const settled = vi.fn()
    connection
      .transaction(writing, async (tx) => {
        tx.put('meta', 'a', 1)
        await never()
      })
      .catch(settled)
    const behind = connection.transaction(writing, (tx) => tx.keys('meta'))
    await clock.advance(1_999)
    expect(settled).not.toHaveBeenCalled()
    await clock.advance(1)
    expect(settled).toHaveBeenCalledWith(expect.objectContaining({ name: 'StorageError', code: 'timeout' }))
    expect(await behind).toEqual([])
    expect(clock.timers).toBe(0)
  })

  test('a transaction that an engine does not even abort', async () => {
    const clock = new VirtualClock()
    const { store, answer } = silentStore()
    const opening = withTimeLimits(store, clock, limits).open('db')
    answer({ transaction: never, close: () => {}, onLost: () => () => {} })
    const connection = await opening
    const done = connection.transaction(writing, async () => {})
    done.catch(() => {})
    await clock.advance(2_000)
    await expect(done).rejects.toMatchObject({ code: 'timeout' })
    expect(clock.timers).toBe(0)
  })
})

test('a long transaction is not late while its reads are answered', async () => {
  const { clock, connection } = await setUp()
  const done = connection.transaction(writing, async (tx) => {
    for (let turn = 0; turn < 10; turn += 1) {
      clock.advance(1_500)
      await new Promise((resolve) => setImmediate(resolve))
      await Promise.all([tx.get('meta', 'a'), tx.keys('meta'), tx.values('meta')])
    }
    return 'done'
  })
  expect(await done).toBe('done')
  expect(clock.timers).toBe(0)
})

test('an opening that fails is told as it failed, to nobody but the caller', async () => {
  const unheard = vi.fn()
  process.on('unhandledRejection', unheard)
  const clock = new VirtualClock()
  const store: Store = { ...silentStore().store, open: () => Promise.reject(new Error('on purpose')) }
  await expect(withTimeLimits(store, clock, limits).open('db')).rejects.toThrow('on purpose')
  await settle()
  process.off('unhandledRejection', unheard)
  expect([unheard.mock.calls, clock.timers]).toEqual([[], 0])
})

test('the signal of the caller still aborts, and is let go of after each transaction', async () => {
  const { connection } = await setUp()
  const controller = new AbortController()
  const { signal } = controller
  await connection.transaction({ ...writing, signal }, async () => {})
  expect(getEventListeners(signal, 'abort')).toEqual([])
  const done = connection.transaction({ ...writing, signal }, never)
  controller.abort()
  await expect(done).rejects.toMatchObject({ code: 'aborted' })
  expect(getEventListeners(signal, 'abort')).toEqual([])
})
