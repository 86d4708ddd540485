import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { SyncClient, Transaction } from '../../src/index.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { FaultyStore } from '../support/store-faults.ts'
import { slowStore } from '../support/store-steps.ts'
import { at, failure, inStep, notes, TestBackend } from '../support/test-backend.ts'

const unhandled: unknown[] = []
const note = (reason: unknown) => void unhandled.push(reason)
beforeEach(() => void process.on('unhandledRejection', note))
afterEach(async () => {
  await new Promise((resolve) => setTimeout(resolve, 10))
  process.off('unhandledRejection', note)
  expect(unhandled.splice(0)).toEqual([])
})

/** What became of each promise so far. */
async function stateOf(tx: Transaction) {
  const still = Symbol('still')
  const look = (promise: Promise<unknown>) =>
    Promise.race([promise, Promise.resolve(still)]).then(
      (value) => (value === still ? 'waits' : 'resolved'),
      (error) => `${error.name} ${error.reason ?? error.code}`,
    )
  await new Promise((resolve) => setImmediate(resolve))
  const [durable, accepted, synced, settled] = await Promise.all(
    [tx.durable, tx.accepted, tx.synced, tx.settled].map(look),
  )
  return { state: tx.state, durable, accepted, synced, settled }
}

/** Makes the promises, which are there only once they are asked for, and hears none of them. */
function unheard(tx: Transaction): Transaction {
  void [tx.durable, tx.accepted, tx.synced, tx.settled]
  return tx
}

describe('the promises of a transaction', () => {
  test('resolve in order, with the sid of the server', async () => {
    const { backend, client } = await inStep()
    const order: string[] = []
    const tx = client.mutate((m) => m.insert('Note', { id: '1' }))
    for (const name of ['durable', 'accepted', 'synced', 'settled'] as const) {
      void tx[name].then((value) => order.push(`${name} ${value}`))
    }
    tx.subscribe(({ state }) => order.push(state))
    await backend.clock.until(tx.synced)
    await backend.clock.advance(100)
    const sids = ['durable undefined', 'accepted 1', 'synced 1', 'settled synced']
    expect(order.filter((line) => sids.includes(line))).toEqual(sids)
    // The data arrives together with the result.
    expect(order.filter((line) => !sids.includes(line))).toEqual(['queued', 'sending', 'synced'])
    expect(await stateOf(tx)).toMatchObject({ durable: 'resolved', settled: 'resolved' })
  })

  test('invariant 36: cause no unhandled rejections if nobody handles them', async () => {
    const faulty = new FaultyStore(memoryStore())
    const { backend, client } = await inStep({}, { store: faulty.store })
    backend.intercept = at('tx', async () => failure(422, 'invalid'))
    const rejected = unheard(client.mutate((m) => m.insert('Note', { id: '1' })))
    const dependent = client.mutate((m) => m.update('Note', '1', {}), { requires: [rejected] })
    await backend.clock.advance(10_000)
    expect(await stateOf(rejected)).toEqual({
      state: 'rejected',
      durable: 'resolved',
      accepted: 'RejectedError invalid',
      synced: 'RejectedError invalid',
      settled: 'resolved',
    })
    expect(dependent.state).toBe('synced')
    await backend.clock.until(client.stop())
    faulty.arm(0, 'throw')
    const failed = unheard(client.outbox.retry(rejected.id, (m) => m.insert('Note', { id: '2' })))
    await backend.clock.advance(10_000)
    expect(await stateOf(failed)).toEqual({
      state: 'failed',
      durable: 'StorageError aborted',
      accepted: 'StorageError aborted',
      synced: 'StorageError aborted',
      settled: 'resolved',
    })
    faulty.disarm()
    const undone = unheard(client.mutate((m) => m.insert('Note', { id: '3' })))
    await backend.clock.until(undone.undo())
    expect(await stateOf(undone)).toMatchObject({ state: 'cancelled', settled: 'resolved' })
    await backend.clock.until(client.outbox.discard(rejected.id))
    expect(await stateOf(rejected)).toMatchObject({ state: 'discarded', settled: 'resolved' })
  })

  test('close settles all promises, and stores the writes', async () => {
    const { backend, device, client } = await inStep()
    device.network.cut()
    const queued = client.mutate((m) => m.insert('Note', { id: '1' }))
    await backend.clock.until(queued.durable)
    const writing = client.mutate((m) => m.insert('Note', { id: '2' }))
    await backend.clock.until(client.close())
    for (const tx of [queued, writing]) {
      expect(await stateOf(tx)).toEqual({
        state: 'queued',
        durable: 'resolved',
        accepted: 'ClosedError closed',
        synced: 'ClosedError closed',
        settled: 'resolved',
      })
    }
    const again = await device.restart()
    expect(notes(again)).toEqual({ 1: {}, 2: {} })
  })

  test.each([
    ['start', (client: SyncClient) => client.start()],
    ['outbox.export', (client: SyncClient) => client.outbox.export()],
  ])('close settles the promises that wait for `%s` from the disk', async (_, open) => {
    const backend = new TestBackend()
    const device = backend.device({ store: slowStore(memoryStore(), backend.clock, 20) })
    const first = device.client()
    await backend.clock.until(first.mutate((m) => m.insert('Note', { id: '1' })).durable)
    await backend.clock.until(first.close())
    const client = device.client()
    const opening = open(client)
    await backend.clock.until(client.close())
    await backend.clock.until<unknown>(opening)
    const [tx] = client.outbox.list()
    expect(tx && (await stateOf(tx))).toMatchObject({ state: 'queued', settled: 'resolved' })
  })

  test('close waits until the effects of an undo are stored', async () => {
    const backend = new TestBackend()
    const device = backend.device({ store: slowStore(memoryStore(), backend.clock, 20) })
    const client = device.client()
    const undone = client.mutate((m) => m.insert('Note', { id: '1' }))
    const other = client.mutate((m) => m.insert('Note', { id: '2' }), { requires: [undone] })
    await backend.clock.until(other.durable)
    const undoing = undone.undo()
    await backend.clock.until(Promise.all([undoing, client.close()]))
    expect(other.state).toBe('rejected')
    const again = device.client()
    await backend.clock.until(again.start())
    expect(again.outbox.list().map(({ id, state }) => [id, state])).toEqual([[other.id, 'rejected']])
  })

  test('close does not open a disk that was not opened', async () => {
    const backend = new TestBackend()
    const inner = memoryStore()
    let opened = 0
    const open = (name: string) => {
      opened += 1
      return inner.open(name)
    }
    const client = backend.device({ store: { ...inner, open } }).client()
    await backend.clock.until(client.close())
    await expect(client.outbox.export()).rejects.toMatchObject({ name: 'ClosedError' })
    expect(opened).toBe(0)
  })

  test('close settles promises that an unresponsive store blocks', async () => {
    const faulty = new FaultyStore(memoryStore())
    const { backend, client } = await inStep({}, { store: faulty.store })
    faulty.arm(0, 'hang')
    const tx = client.mutate((m) => m.insert('Note', { id: '1' }))
    await backend.clock.until(client.close())
    expect(await stateOf(tx)).toMatchObject({
      settled: 'resolved',
      // Closing the client has stored it once more.
      durable: 'resolved',
    })
  })

  test('of a transaction that writes nothing are settled at once, and nothing is sent', async () => {
    const { backend, client } = await inStep()
    const tx = client.mutate(() => {})
    expect(await stateOf(tx)).toEqual({
      state: 'synced',
      durable: 'resolved',
      accepted: 'resolved',
      synced: 'resolved',
      settled: 'resolved',
    })
    await backend.clock.advance(10_000)
    expect([backend.received, client.outbox.list()]).toEqual([[], []])
  })
})
