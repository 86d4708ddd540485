import { describe, expect, test } from 'vitest'
import { StorageError } from '../../src/base/errors.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { at, failure, inStep, notes } from '../support/test-backend.ts'
import { watching, writesOutbox } from '../support/watching-store.ts'

/** A client whose disk takes so many of the next writes to the outbox, and then refuses so many. */
async function open() {
  const disk = { passing: 0, failing: 0 }
  const store = watching(memoryStore(), (options) => {
    if (!writesOutbox(options) || disk.failing === 0) return
    if (disk.passing > 0) {
      disk.passing -= 1
      return
    }
    disk.failing -= 1
    throw new StorageError('aborted', 'Not now.')
  })
  const { backend, device, client } = await inStep({ 1: { title: 'Milk', n: 1 } }, { store })
  const refuse = () => {
    backend.intercept = at('tx', async () => failure(422, 'invalid'))
  }
  const both = () => [client.canUndo, client.canRedo]
  const n = () => client.get('Note', '1')?.n
  return { backend, device, client, disk, refuse, both, n }
}

const notNow = { name: 'StorageError', code: 'aborted' }

describe('an undo that the disk refuses', () => {
  test('leaves the same transaction in its place, and can be tried again', async () => {
    const { backend, client, disk, both, n } = await open()
    await client.stop()
    const tx = client.mutate((m) => m.update('Note', '1', { n: 2 }))
    await backend.clock.until(tx.durable)
    disk.failing = 1
    await expect(backend.clock.until(client.undo())).rejects.toMatchObject(notNow)
    expect([tx.state, client.outbox.list(), n(), both()]).toEqual(['queued', [tx], 2, [true, false]])
    expect([await backend.clock.until(client.undo()), n(), both()]).toEqual([true, 1, [false, true]])
    await backend.clock.until(client.redo())
    await client.start()
    await backend.clock.advance(10_000)
    expect(await backend.rows()).toEqual({ 1: { title: 'Milk', n: 2 } })
  })

  test('in the middle of a group keeps the rest of the group for the next undo', async () => {
    const { backend, client, disk, both } = await open()
    await client.stop()
    for (const id of ['2', '3']) client.mutate((m) => m.insert('Note', { id }), { group: 'g' })
    await backend.clock.until(client.outbox.list()[1]?.durable ?? Promise.reject())
    disk.passing = 1
    disk.failing = 1
    await expect(backend.clock.until(client.undo())).rejects.toMatchObject(notNow)
    expect(Object.keys(notes(client))).toEqual(['1', '2'])
    expect(both()).toEqual([true, true])
    while (client.canUndo) await backend.clock.until(client.undo())
    expect(Object.keys(notes(client))).toEqual(['1'])
    while (client.canRedo) await backend.clock.until(client.redo())
    expect(Object.keys(notes(client))).toEqual(['1', '2', '3'])
    expect(both()).toEqual([true, false])
  })

  test('reports the true state of the transaction', async () => {
    const { backend, client, disk } = await open()
    await client.stop()
    const tx = client.mutate((m) => m.update('Note', '1', { n: 2 }))
    await backend.clock.until(tx.durable)
    const asked = Promise.allSettled([tx.accepted, tx.synced, tx.settled])
    disk.failing = 1
    await expect(backend.clock.until(tx.undo())).rejects.toMatchObject(notNow)
    expect((await asked).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled'])
    await client.start()
    expect(await backend.clock.until(Promise.all([tx.durable, tx.accepted, tx.synced]))).toEqual([
      undefined,
      2,
      2,
    ])
    expect(await backend.clock.until(tx.settled)).toBe('synced')
  })

  test('of a transaction that was being stored leaves it durable', async () => {
    const { backend, client, disk } = await open()
    await client.stop()
    disk.passing = 1
    disk.failing = 1
    const tx = client.mutate((m) => m.update('Note', '1', { n: 2 }))
    const durable = expect(tx.durable).rejects.toMatchObject({ name: 'RejectedError', reason: 'cancelled' })
    await expect(backend.clock.until(tx.undo())).rejects.toMatchObject(notNow)
    await durable
    expect(tx.state).toBe('queued')
    await backend.clock.until(tx.durable)
  })

  test('notifies listeners of the outbox once the transaction is back', async () => {
    const { backend, client, disk } = await open()
    await client.stop()
    const tx = client.mutate((m) => m.update('Note', '1', { n: 2 }))
    await backend.clock.until(tx.durable)
    const seen: unknown[] = []
    client.outbox.subscribe(() => seen.push(client.outbox.list()))
    disk.failing = 1
    await expect(backend.clock.until(tx.undo())).rejects.toMatchObject(notNow)
    expect([seen[0], seen.at(-1)]).toEqual([[], [tx]])
  })

  test('lets the transaction be sent, even if no other waits', async () => {
    const { backend, client, disk } = await open()
    disk.passing = 1
    disk.failing = 1
    const tx = client.mutate((m) => m.update('Note', '1', { n: 2 }))
    await expect(backend.clock.until(tx.undo())).rejects.toMatchObject(notNow)
    await backend.clock.advance(5_000)
    expect(tx.state).toBe('synced')
  })
})

test('a rejected transaction whose retry could not be stored is unchanged, and its next retry can be undone', async () => {
  const { backend, client, disk, refuse, n } = await open()
  const told: string[] = []
  client.on('rejected', ({ id }) => told.push(id))
  refuse()
  const tx = client.mutate((m) => m.update('Note', '1', { n: 2 }))
  await backend.clock.advance(5_000)
  disk.failing = 1
  client.outbox.retry(tx.id)
  expect(tx.state).toBe('discarded')
  await backend.clock.advance(1_000)
  expect([tx.state, tx.rejection?.reason, client.outbox.list()]).toEqual(['rejected', 'invalid', [tx]])
  // Its user knows of it.
  expect(told).toEqual([tx.id])
  backend.intercept = (_, pass) => pass()
  client.outbox.retry(tx.id)
  expect([n(), await backend.clock.until(client.undo()), n()]).toEqual([2, true, 1])
})

test('a rejected undo whose retry could not be stored can be retried, and then be redone', async () => {
  const { backend, client, disk, refuse, both, n } = await open()
  await backend.clock.until(client.mutate((m) => m.update('Note', '1', { n: 2 })).synced)
  refuse()
  await backend.clock.until(client.undo())
  await backend.clock.advance(1_000)
  const id = client.outbox.list()[0]?.id ?? ''
  disk.failing = 1
  client.outbox.retry(id)
  await backend.clock.advance(1_000)
  expect([client.outbox.get(id)?.state, n(), both()]).toEqual(['rejected', 2, [false, false]])
  backend.intercept = (_, pass) => pass()
  client.outbox.retry(id)
  expect([n(), both()]).toEqual([1, [false, true]])
  expect([await backend.clock.until(client.redo()), n()]).toEqual([true, 2])
})

test('a rejected transaction that the disk does not remove stays in the inbox, and can be discarded later', async () => {
  const { backend, client, disk, refuse } = await open()
  refuse()
  const tx = client.mutate((m) => m.update('Note', '1', { n: 2 }))
  await backend.clock.advance(1_000)
  disk.failing = 1
  await expect(backend.clock.until(client.outbox.discard(tx.id))).rejects.toMatchObject(notNow)
  expect([tx.state, client.outbox.list(), client.status.writes.rejected]).toEqual(['rejected', [tx], 1])
  await backend.clock.until(client.outbox.discard(tx.id))
  expect([tx.state, client.outbox.list(), client.status.writes.rejected]).toEqual(['discarded', [], 0])
})

describe('a transaction that writes nothing', () => {
  test('is no undo step, and keeps the redo steps', async () => {
    const { backend, client, both } = await open()
    client.mutate((m) => m.update('Note', '1', { n: 2 }))
    await backend.clock.until(client.undo())
    client.mutate((m) => m.delete('Note', 'nobody'))
    expect(both()).toEqual([false, true])
  })

  test('as a replacement of a rejected transaction is no undo step either', async () => {
    const { backend, client, refuse, both } = await open()
    refuse()
    const tx = client.mutate((m) => m.update('Note', '1', { n: 2 }))
    await backend.clock.advance(1_000)
    client.outbox.retry(tx.id, () => {})
    expect([both(), await client.undo()]).toEqual([[false, false], false])
  })
})

describe('a rejected transaction', () => {
  test('that an undo skipped can be undone once it is retried', async () => {
    const { backend, client, refuse } = await open()
    const title = () => client.get('Note', '1')?.title
    await backend.clock.until(client.mutate((m) => m.update('Note', '1', { n: 2 })).synced)
    refuse()
    const tx = client.mutate((m) => m.update('Note', '1', { title: 'Bread' }))
    await backend.clock.advance(1_000)
    backend.intercept = (_, pass) => pass()
    await backend.clock.until(client.undo())
    expect([tx.state, notes(client)]).toEqual(['rejected', { 1: { title: 'Milk', n: 1 } }])
    client.outbox.retry(tx.id)
    expect(title()).toBe('Bread')
    expect([await backend.clock.until(client.undo()), title()]).toEqual([true, 'Milk'])
  })

  test('whose undo was rejected with it cannot be redone, but retried, and then undone', async () => {
    const { backend, client, both, n } = await open()
    backend.push = () => {}
    backend.intercept = at('tx', () => backend.wait(500).then(() => failure(422, 'invalid')))
    const tx = client.mutate((m) => m.update('Note', '1', { n: 2 }))
    await backend.clock.until(tx.durable)
    await backend.clock.until(client.undo())
    await backend.clock.advance(5_000)
    expect([tx.state, both(), await client.redo(), n()]).toEqual(['rejected', [false, false], false, 1])
    backend.intercept = (_, pass) => pass()
    client.outbox.retry(tx.id)
    expect([n(), both()]).toEqual([2, [true, false]])
    expect([await backend.clock.until(client.undo()), n(), both()]).toEqual([true, 1, [false, true]])
  })
})

test('a redo does not touch a record that somebody else added meanwhile', async () => {
  const { backend, client, both } = await open()
  await client.stop()
  for (const id of ['2', '3']) client.mutate((m) => m.insert('Note', { id, n: 1 }), { group: 'g' })
  await backend.clock.until(client.undo())
  await backend.insert('3', { n: 9 })
  await backend.clock.until(client.sync())
  expect([await backend.clock.until(client.redo()), both()]).toEqual([true, [true, false]])
  expect(notes(client)).toMatchObject({ 2: { n: 1 }, 3: { n: 9 } })
})
