import { describe, expect, test } from 'vitest'
import type { SyncClient, Transaction } from '../../src/index.ts'
import {
  at,
  type ClientOptions,
  conflict,
  inStep,
  type Message,
  notes,
  oneNote,
  rewriting,
  TestBackend,
} from '../support/test-backend.ts'

const rejectedOf = (client: SyncClient) => client.outbox.list({ state: 'rejected' })

describe('a rejected transaction', () => {
  test.each([{}, { identity: null }])(
    'stays in the inbox while later transactions are sent, with %o',
    async (options) => {
      const { backend, client, tx } = await conflict(options)
      const next = client.mutate((m) => m.insert('Note', { id: '2' }))
      await backend.clock.until(next.synced)
      expect(rejectedOf(client)).toEqual([tx])
    },
  )

  test('stays in the inbox with its reason and all versions of the record, even after a restart', async () => {
    const { device, client, tx } = await conflict()
    expect(device.log).toEqual(['rejected Rename conflict'])
    expect([tx.state, await tx.settled]).toEqual(['rejected', 'rejected'])
    expect(notes(client)).toEqual({ 1: { title: 'theirs', n: 2 } })
    const again = await device.restart()
    const [kept, ...others] = rejectedOf(again)
    expect(others).toEqual([])
    expect(kept).toMatchObject({ id: tx.id, label: 'Rename', at: tx.at, rejection: { reason: 'conflict' } })
    for (const one of [tx, kept]) {
      expect(one?.records).toMatchObject([
        {
          type: 'Note',
          id: '1',
          base: { title: 'Milk', n: 1 },
          mine: { title: 'mine', n: 1 },
          theirs: { title: 'theirs', n: 2 },
        },
      ])
    }
    await expect(kept?.accepted).rejects.toMatchObject({ name: 'RejectedError', reason: 'conflict' })
    expect(device.log).toEqual(['rejected Rename conflict'])
    expect(again.status.writes).toEqual({ pending: 0, rejected: 1 })
  })

  test('reaches a listener of the outbox after a restart, even offline', async () => {
    const { backend, device, tx } = await conflict()
    await device.kill()
    device.network.cut()
    const again = device.client()
    const told: unknown[] = []
    again.outbox.subscribe(() => told.push(rejectedOf(again).map(({ id }) => id)))
    await backend.clock.until(again.start())
    expect(told.at(-1)).toEqual([tx.id])
  })

  test('keeps the details of the server, even after a restart', async () => {
    const { backend, device, client } = await oneNote()
    const error = { code: 'invalid', message: 'No.', details: { field: 'title' } }
    backend.intercept = at('tx', async (request) => {
      const { txs } = await request.json()
      return Response.json({ sid: 1, results: [{ id: txs[0].id, error }] })
    })
    const tx = client.mutate((m) => m.update('Note', '1', { title: '' }))
    await backend.clock.advance(1_000)
    const [kept] = rejectedOf(await device.restart())
    for (const { rejection } of [tx, kept ?? tx]) expect(rejection?.details).toEqual({ field: 'title' })
    expect(kept?.id).toBe(tx.id)
  })

  test('does not conflict with writes of the same client', async () => {
    const { backend, device, client } = await oneNote()
    device.network.cut()
    const all = [1, 2, 3].map((n) =>
      client.mutate((m) => m.update('Note', '1', { n }, { ifUnchanged: true })),
    )
    device.network.mend()
    await backend.clock.until(Promise.all(all.map((tx) => tx.synced)))
    expect(notes(client)).toEqual({ 1: { title: 'Milk', n: 3 } })
  })

  test('is retried unchanged, and the retry replaces it on disk', async () => {
    const { backend, device, client, tx } = await conflict()
    const made = client.outbox.retry(tx.id)
    expect(made).toMatchObject({ label: 'Rename', retryOf: tx.id })
    expect([tx.state, client.outbox.get(tx.id), made.state]).toEqual(['discarded', undefined, 'writing'])
    expect(notes(client)).toEqual({ 1: { title: 'mine', n: 2 } })
    await backend.clock.until(made.synced)
    expect(rejectedOf(await device.restart())).toEqual([])
    expect(await backend.rows()).toEqual({ 1: { title: 'mine', n: 2 } })
  })

  test('is retried with an edit after a restart', async () => {
    const { backend, device, tx } = await conflict()
    const client = await device.restart()
    const made = client.outbox.retry(tx.id, (m) => {
      m.update('Note', '1', { title: `${m.get('Note', '1')?.title} and mine` })
    })
    await backend.clock.until(made.synced)
    expect(await backend.rows()).toEqual({ 1: { title: 'theirs and mine', n: 2 } })
    expect(await backend.clock.until(client.outbox.export())).toEqual({
      transactions: [],
      failed: [],
      unreadable: [],
    })
  })

  test('stays as it was if the edit throws or is invalid', async () => {
    const { client, tx } = await conflict()
    const thrown = new Error('Mine.')
    expect(() =>
      client.outbox.retry(tx.id, () => {
        throw thrown
      }),
    ).toThrow(thrown)
    expect(() => client.outbox.retry(tx.id, (m) => m.update('Note', 'none', {}))).toThrow('Note.id')
    expect([tx.state, client.status.writes]).toEqual(['rejected', { pending: 0, rejected: 1 }])
    expect(rejectedOf(client)).toEqual([tx])
  })

  test('is removed if the edit writes nothing', async () => {
    const { backend, device, client, tx } = await conflict()
    const made = client.outbox.retry(tx.id, () => {})
    await backend.clock.until(made.durable)
    expect([made.state, await made.settled, tx.state]).toEqual(['synced', 'synced', 'discarded'])
    expect(client.status.writes).toEqual({ pending: 0, rejected: 0 })
    await backend.clock.advance(1_000)
    expect(rejectedOf(await device.restart())).toEqual([])
  })

  test('restores a whole record that somebody deleted', async () => {
    const { backend, device, client } = await oneNote()
    device.network.cut()
    const tx = client.mutate((m) => m.update('Note', '1', { title: 'mine' }))
    await backend.remove('1')
    device.network.mend()
    await backend.clock.advance(60_000)
    expect(tx.rejection?.reason).toBe('not_found')
    expect(tx.records[0]?.theirs).toBeUndefined()
    await backend.clock.until(client.outbox.retry(tx.id).synced)
    expect(await backend.rows()).toEqual({ 1: { title: 'mine', n: 1 } })
  })

  test('is discarded, and does not come back', async () => {
    const { backend, device, client, tx } = await conflict()
    await backend.clock.until(client.outbox.discard(tx.id))
    expect(tx.state).toBe('discarded')
    expect(client.outbox.list()).toEqual([])
    expect(client.status.writes).toEqual({ pending: 0, rejected: 0 })
    expect((await device.restart()).outbox.list()).toEqual([])
  })

  test('is the only kind that retry and discard accept', async () => {
    const { backend, client } = await conflict()
    const named = expect.objectContaining({ name: 'ConfigurationError', option: 'id' })
    const queued = client.mutate((m) => m.insert('Note', {}))
    for (const id of ['none', queued.id]) {
      expect(() => client.outbox.retry(id)).toThrow(named)
      await expect(client.outbox.discard(id)).rejects.toThrow(named)
    }
    await backend.clock.until(queued.synced)
  })

  test('is part of the export, as JSON', async () => {
    const { backend, client, tx } = await conflict()
    const exported = await backend.clock.until(client.outbox.export())
    expect(exported).toMatchObject({
      transactions: [
        { id: tx.id, state: 'rejected', error: { code: 'conflict' }, ops: [{ p: { title: 'mine' } }] },
      ],
      unreadable: [],
    })
    expect(JSON.parse(JSON.stringify(exported))).toEqual(JSON.parse(JSON.stringify(exported)))
  })
})

describe('a transaction that requires another', () => {
  /** A poisoned insert, what builds on it in two steps, and something else. */
  async function chain(options: ClientOptions = {}) {
    const { backend, device, client } = await inStep({ other: { n: 1 } }, options)
    await backend.insert('x', {}, 'bob')
    device.network.cut()
    const root = client.mutate((m) => m.insert('Note', { id: 'x', n: 1 }), { label: 'root' })
    const child = client.mutate((m) => m.update('Note', 'x', { n: 2 }), { label: 'child' })
    const grandchild = client.mutate((m) => m.update('Note', 'other', { n: 5 }), {
      label: 'grand',
      requires: [child],
    })
    const other = client.mutate((m) => m.update('Note', 'other', { m: 1 }), { label: 'other' })
    return { backend, device, client, all: [root, child, grandchild, other] }
  }

  test('invariant 29: a rejection undoes the transaction and its dependents, and no other', async () => {
    const { backend, device, client, all } = await chain()
    // The server does not tell what becomes of the dependents.
    const first = ({ results = [], ...rest }: Message) => ({ ...rest, results: results.slice(0, 1) })
    backend.intercept = rewriting('tx', first)
    const seen: unknown[] = []
    client.query('Note', {}).subscribe(({ rows }) => seen.push(rows.map(({ id, n, m }) => [id, n, m])))
    device.network.mend()
    await backend.clock.advance(60_000)
    expect(all.map(({ state }) => state)).toEqual(['rejected', 'rejected', 'rejected', 'synced'])
    expect(device.log).toEqual([
      'rejected root exists',
      'rejected child dependency_rejected',
      'rejected grand dependency_rejected',
    ])
    await expect(all[0]?.accepted).rejects.toMatchObject({ name: 'RejectedError', reason: 'exists' })
    // All of it in one step.
    expect(seen).toEqual([[['other', 1, 1]]])
    const again = await device.restart()
    expect(notes(again)).toEqual({ other: { n: 1, m: 1 } })
    expect(again.status.writes).toEqual({ pending: 0, rejected: 3 })
  })

  test('is rejected at once if its requirement was rejected', async () => {
    const { backend, device, client, all } = await chain()
    device.network.mend()
    await backend.clock.advance(60_000)
    const requires = all.slice(0, 1)
    const write = () => client.mutate((m) => m.update('Note', 'other', { n: 9 }), { requires })
    expect(write).toThrow(expect.objectContaining({ name: 'RejectedError', reason: 'dependency_rejected' }))
    expect(client.get('Note', 'other')?.n).toBe(1)
  })

  test('does not require a put if it changes a record that existed before the put', async () => {
    const { backend, device, client } = await oneNote()
    device.network.cut()
    const put = client.mutate((m) => m.put('Note', { id: '1', title: 'mine' }, { ifUnchanged: true }))
    const after = client.mutate((m) => m.update('Note', '1', { n: 2 }))
    await backend.update('1', { title: 'theirs' })
    device.network.mend()
    await backend.clock.advance(60_000)
    expect([put.rejection?.reason, after.state]).toEqual(['conflict', 'synced'])
    expect([notes(client), await backend.rows()]).toEqual(Array(2).fill({ 1: { title: 'theirs', n: 2 } }))
  })

  test('is sent after its requirement was undone and never sent', async () => {
    const { client, all, backend } = await chain()
    await client.stop()
    await backend.clock.until(Promise.resolve(all[0]?.undo()))
    expect(all.map(({ state }) => state)).toEqual(['cancelled', 'rejected', 'rejected', 'queued'])
    expect(client.status.writes).toEqual({ pending: 1, rejected: 2 })
    expect(notes(client)).toEqual({ other: { n: 1, m: 1 } })
  })

  test('can be retried after its requirement', async () => {
    const { backend, device, client, all } = await chain()
    device.network.mend()
    await backend.clock.advance(60_000)
    await backend.remove('x')
    const made = all.slice(0, 3).map((tx) => client.outbox.retry(tx.id))
    await backend.clock.until(Promise.all(made.map((tx) => tx.synced)))
    expect(await backend.rows()).toEqual({ x: { n: 2 }, other: { n: 5, m: 1 } })
    expect(backend.received.slice(-3)).toEqual(made.map(({ id }) => id))
  })
})

describe('a transaction whose requirement is gone', () => {
  async function open() {
    const backend = new TestBackend({
      authorize: ({ ops }) =>
        ops.some((op) => op.op === 'i' && op.p.n === 1) ? { message: 'No.' } : undefined,
    })
    const device = backend.device()
    return { backend, device, client: await device.live() }
  }

  const requiredBy = async (client: SyncClient, requires: readonly Transaction[]) => {
    const { id } = client.mutate((m) => m.insert('Note', {}), { requires })
    const { transactions } = await client.outbox.export()
    return transactions.find((one) => one.id === id)?.requires
  }

  test('keeps waiting when its requirement is redone', async () => {
    const { backend, client } = await open()
    await client.stop()
    const first = client.mutate((m) => m.insert('Note', { id: '1' }))
    await backend.clock.until(client.undo())
    await backend.clock.until(client.redo())
    const [again] = client.outbox.list()
    expect(await requiredBy(client, [first])).toEqual([again?.id])
  })

  test('waits for the retry of its requirement until the data contains it', async () => {
    const { backend, client } = await open()
    const first = client.mutate((m) => m.insert('Note', { id: '1', n: 1 }))
    await backend.clock.until(first.settled)
    const again = client.outbox.retry(first.id, (m) => m.insert('Note', { id: '1' }))
    expect(await requiredBy(client, [first])).toEqual([again.id])
    await backend.clock.until(again.synced)
    expect(await requiredBy(client, [first])).toEqual([])
  })

  test('is rejected when its requirement is discarded', async () => {
    const { backend, client } = await open()
    const first = client.mutate((m) => m.insert('Note', { id: '1', n: 1 }))
    await backend.clock.until(first.settled)
    client.outbox.retry(first.id, () => {})
    await expect(requiredBy(client, [first])).rejects.toThrow('was discarded')
  })
})

test('a retried transaction requires the retry of its requirement', async () => {
  const { backend, client } = await inStep(
    {},
    {},
    {
      authorize: ({ ops }) => (ops.some(({ id }) => id === 'payment') ? { message: 'No.' } : undefined),
    },
  )
  const payment = client.mutate((m) => m.insert('Note', { id: 'payment' }))
  const order = client.mutate((m) => m.insert('Note', { id: 'order' }), { requires: [payment] })
  await backend.clock.advance(5_000)
  const again = [payment, order].map(({ id }) => client.outbox.retry(id))
  await backend.clock.advance(5_000)
  expect(again.map(({ rejection }) => rejection?.reason)).toEqual(['forbidden', 'dependency_rejected'])
  expect(await backend.rows()).toEqual({})
})

test.each([
  ['', false],
  [', also after a restart', true],
])('a retry requires the last retry of what the original required%s', async (_, restarts) => {
  const backend = new TestBackend({
    authorize: ({ ops }) => (ops.some(({ id }) => id === 'payment') ? { message: 'No.' } : undefined),
  })
  const device = backend.device()
  let client = await device.live()
  const payment = client.mutate((m) => m.insert('Note', { id: 'payment' }))
  const order = client.mutate((m) => m.insert('Note', { id: 'order' }), { requires: [payment] })
  await backend.clock.advance(5_000)
  const second = client.outbox.retry(payment.id)
  await backend.clock.advance(5_000)
  if (restarts) client = await device.restart()
  device.network.cut()
  const third = client.outbox.retry(second.id)
  const again = client.outbox.retry(order.id)
  device.network.mend()
  await backend.clock.advance(60_000)
  expect([second, third].map(({ retryOf }) => retryOf)).toEqual([payment.id, second.id])
  expect([third, again].map(({ rejection }) => rejection?.reason)).toEqual([
    'forbidden',
    'dependency_rejected',
  ])
  expect(await backend.rows()).toEqual({})
})

test('a retried transaction requires the redo of its requirement', async () => {
  const { backend, device, client } = await inStep(
    {},
    {},
    {
      authorize: ({ ops }) => (ops.some(({ id }) => id === 'payment') ? { message: 'No.' } : undefined),
    },
  )
  const payment = client.mutate((m) => m.insert('Note', { id: 'payment' }))
  const order = client.mutate((m) => m.insert('Note', { id: 'order' }), { requires: [payment] })
  await backend.clock.advance(5_000)
  device.network.cut()
  client.outbox.retry(payment.id)
  await backend.clock.until(client.undo())
  await backend.clock.until(client.redo())
  const again = client.outbox.retry(order.id)
  device.network.mend()
  await backend.clock.advance(60_000)
  expect([again.rejection?.reason, await backend.rows()]).toEqual(['dependency_rejected', {}])
})

test('a rejection that a listener settles at once leaves nothing in the inbox', async () => {
  const { backend, device, client } = await inStep()
  device.network.cut()
  const tx = client.mutate((m) => m.insert('Note', { id: 'x', n: 1 }))
  const given = client.mutate((m) => m.insert('Note', { id: 'y', n: 1 }))
  await backend.insert('x', {}, 'bob')
  await backend.insert('y', {}, 'bob')
  let made: Transaction | undefined
  tx.subscribe(() => {
    if (tx.state === 'rejected') made = client.outbox.retry(tx.id, (m) => m.insert('Note', { id: 'z', n: 1 }))
  })
  client.on('rejected', ({ id }) => void client.outbox.discard(id))
  device.network.mend()
  await backend.clock.advance(60_000)
  expect([tx.state, made?.state, given.state]).toEqual(['discarded', 'synced', 'discarded'])
  expect([tx.rejection?.reason, given.rejection?.reason]).toEqual(['exists', 'exists'])
  await expect(given.accepted).rejects.toBe(given.rejection)
  expect(client.status.writes).toEqual({ pending: 0, rejected: 0 })
  // No verdict is left that the data would have to show.
  const fetches = backend.count('delta')
  client.mutate((m) => m.update('Note', 'z', { n: 2 }))
  await backend.clock.advance(10_000)
  expect(backend.count('delta')).toBe(fetches)
  const again = await device.restart()
  await backend.clock.advance(60_000)
  expect(again.outbox.list()).toEqual([])
  expect(await backend.rows()).toEqual({ z: { n: 2 } })
  expect(new Set(backend.received).size).toBe(4)
})
