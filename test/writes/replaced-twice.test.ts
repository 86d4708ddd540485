import { expect, test } from 'vitest'
import { Deferred } from '../../src/base/deferred.ts'
import type { SyncClientOptions, Transaction } from '../../src/index.ts'
import { at, notes, TestBackend } from '../support/test-backend.ts'

/** Two tabs, to each of which the server has refused the same transaction. */
async function refusedToBoth(options: Partial<SyncClientOptions> = {}) {
  const backend = new TestBackend()
  await backend.insert('1', { title: 'base' })
  const device = backend.device()
  const [first, second] = [await device.live(options), await device.live(options)]
  /** The replacements, as the tab has them that made them. */
  const made = new Map<string, Transaction>()
  for (const { outbox } of [first, second]) {
    outbox.subscribe(() => {
      for (const one of outbox.list()) if (one.retryOf && !made.has(one.id)) made.set(one.id, one)
    })
  }
  device.network.cut()
  const { id, durable } = second.mutate((m) =>
    m.update('Note', '1', { title: 'mine' }, { ifUnchanged: true }),
  )
  await backend.clock.until(durable)
  await backend.update('1', { title: 'theirs' })
  const toFront = () => {
    device.toFront()
    return backend.clock.advance(60_000)
  }
  // The first one reads it.
  await toFront()
  const asked = new Deferred<void>()
  let requests = 0
  backend.intercept = at('tx', async (_, pass) => {
    requests += 1
    if (requests === 2) asked.resolve()
    await asked.promise
    return pass()
  })
  device.network.mend()
  await toFront()
  /** What waits in each tab, once it has heard of the other, and shows what the server has. */
  const end = async () => {
    await toFront()
    expect([notes(first), notes(second)]).toEqual([await backend.rows(), await backend.rows()])
    return [first, second].map(({ outbox }) => outbox.list().map(({ state }) => state))
  }
  return { backend, first, second, id, made, end }
}

const copy = ({ records: [record] }: Pick<Transaction, 'records'>) => record?.mine?.title

test('a rejection that two tabs merge is replaced once, by the first tab', async () => {
  const { backend, made, end } = await refusedToBoth({
    merge: (refused) => (m) => m.insert('Note', { copy: copy(refused) }),
  })
  expect(await end()).toEqual([[], []])
  expect(Object.values(await backend.rows())).toEqual([{ title: 'theirs' }, { copy: 'mine' }])
  const [stands, cancelled] = [...made.values()].sort((a, b) => (a.state > b.state ? -1 : 1))
  expect([stands?.state, cancelled?.state]).toEqual(['synced', 'cancelled'])
  await expect(cancelled?.durable).rejects.toMatchObject({ reason: 'cancelled' })
  expect(await cancelled?.settled).toBe('cancelled')
  expect([...made.keys()].map((id) => backend.received.includes(id)).sort()).toEqual([false, true])
})

test('a transaction that one tab discarded is not retried by a tab that has not heard of it', async () => {
  const { backend, first, second, id, end } = await refusedToBoth()
  await backend.clock.until(first.outbox.discard(id))
  const again = second.outbox.retry(id)
  const edit = second.mutate((m) => m.insert('Note', { id: '2' }), { requires: [again] })
  expect(await backend.clock.until(again.settled)).toBe('cancelled')
  expect(second.outbox.get(id)).toBeUndefined()
  expect(await end()).toEqual([['rejected'], ['rejected']])
  expect(edit.rejection?.reason).toBe('dependency_rejected')
  expect(await backend.rows()).toEqual({ 1: { title: 'theirs' } })
})

test('a tab that undoes its retry does not send the retry of another tab', async () => {
  const { backend, first, second, id, end } = await refusedToBoth()
  await backend.clock.until(first.outbox.retry(id, (m) => m.insert('Note', { id: 'first' })).durable)
  const again = second.outbox.retry(id, (m) => m.insert('Note', { id: 'second' }))
  expect(await backend.clock.until(again.undo())).toBeUndefined()
  expect(await end()).toEqual([[], []])
  expect(again.state).toBe('cancelled')
  expect(Object.keys(await backend.rows())).toEqual(['1', 'first'])
})
