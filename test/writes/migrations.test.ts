import { describe, expect, test } from 'vitest'
import * as z from 'zod/mini'
import { defineModels, type ModelsOptions, model } from '../../src/index.ts'
import type { Mutator } from '../../src/mutations/draft.ts'
import type { WireRow } from '../../src/protocol/row.ts'
import type { TxOp } from '../../src/protocol/tx.ts'
import {
  at,
  type ClientOptions,
  failure,
  inStep,
  type Message,
  notes,
  rewriting,
  TestBackend,
  type TestDevice,
} from '../support/test-backend.ts'

const Note = z.looseObject({})
const modelsOf = (options: ModelsOptions = {}) => ({ models: defineModels({ Note }, options) }) as object

const renamed = <T extends TxOp | WireRow>(value: T): T => {
  if (!('p' in value) || !Object.hasOwn(value.p, 'name')) return value
  const { name: title = '', ...rest } = value.p
  return { ...value, p: { ...rest, title } }
}
const counted = <T extends TxOp | WireRow>(value: T): T =>
  'p' in value && Object.hasOwn(value.p, 'title') ? { ...value, p: { ...value.p, n: 1 } } : value
const two = { version: 2, migrate: { 2: { row: renamed, op: renamed } } }

/** A version 1 that wrote offline, and is gone. */
async function leftBehind(options: ClientOptions = modelsOf()) {
  const { backend, device, client } = await inStep({ 1: { name: 'Milk' } }, options)
  await backend.clock.until(client.stop())
  const update = client.mutate((m) => m.update('Note', '1', { name: 'Oat milk' }), { label: 'Rename' })
  const insert = client.mutate((m) => m.insert('Note', { id: '2', name: 'Bread' }), { label: 'Add' })
  const other = client.mutate((m) => m.insert('Note', { id: '3', other: true }), { label: 'Other' })
  await backend.clock.until(other.durable)
  await device.kill()
  return { backend, device, update, insert, other }
}

/** The new version, before it has a network. */
async function offline(device: TestDevice, options: ModelsOptions) {
  device.network.cut()
  const client = device.client(modelsOf(options))
  await client.start()
  return client
}

describe('queued transactions of an older version', () => {
  test('are migrated with the data, and shown and sent in the new shape', async () => {
    const { backend, device, update } = await leftBehind()
    const client = await offline(device, two)
    expect(notes(client)).toEqual({ 1: { title: 'Oat milk' }, 2: { title: 'Bread' }, 3: { other: true } })
    expect(client.outbox.get(update.id)?.records).toMatchObject([
      { base: { title: 'Milk' }, mine: { title: 'Oat milk' }, theirs: { title: 'Milk' } },
    ])
    device.network.mend()
    await backend.clock.advance(60_000)
    expect(await backend.rows()).toMatchObject({
      1: { title: 'Oat milk' },
      2: { title: 'Bread' },
      3: { other: true },
    })
    expect(client.outbox.list()).toEqual([])
  })

  test('load the records of the type that they have after the migration', async () => {
    const { backend, device, update } = await leftBehind()
    const moved = <T extends TxOp | WireRow>(value: T): T => ({ ...value, t: 'Memo' })
    const models = defineModels(
      { Memo: model(Note, { load: 'lazy' }) },
      { version: 2, migrate: { 2: { row: moved, op: moved } } },
    )
    device.network.cut()
    const client = device.client({ models })
    await client.start()
    await backend.clock.advance(1_000)
    expect(client.outbox.get(update.id)?.records).toMatchObject([
      { type: 'Memo', mine: { name: 'Oat milk' }, theirs: { name: 'Milk' } },
    ])
  })

  test('are migrated over several versions at once, even if they come from different ones', async () => {
    const { backend, device } = await leftBehind()
    const second = await offline(device, two)
    await backend.clock.until(second.mutate((m) => m.insert('Note', { id: '4', title: 'Cake' })).durable)
    await device.kill()
    const client = await offline(device, {
      version: 4,
      migrate: { ...two.migrate, 4: { row: counted, op: counted } },
    })
    const shown = {
      1: { title: 'Oat milk', n: 1 },
      2: { title: 'Bread', n: 1 },
      3: { other: true },
      4: { title: 'Cake', n: 1 },
    }
    expect(notes(client)).toEqual(shown)
    device.network.mend()
    await backend.clock.advance(60_000)
    expect(await backend.rows()).toMatchObject(shown)
  })

  test.each([
    ['gives nothing', () => undefined],
    ['gives what is no op', () => ({ title: 'Oat milk' }) as never],
    ['is asynchronous', (async () => {}) as () => never],
    [
      'throws',
      () => {
        throw new Error('Cannot be.')
      },
    ],
  ])('invariant 12: are kept and reported, never lost, if the migration %s', async (_, give) => {
    const { backend, device, update, insert, other } = await leftBehind()
    const op = (value: TxOp) => (value.op !== 'd' && 'name' in value.p ? give() : value)
    const options = { version: 2, migrate: { 2: { row: renamed, op } } }
    const client = await offline(device, options)
    expect(notes(client)).toEqual({ 1: { title: 'Milk' }, 3: { other: true } })
    expect(device.log).toEqual(['rejected Rename migration', 'rejected Add migration'])
    device.network.mend()
    await backend.clock.advance(60_000)
    expect(client.outbox.list().map(({ id, state }) => [id, state])).toEqual([
      [update.id, 'rejected'],
      [insert.id, 'rejected'],
    ])
    expect(Object.keys(await backend.rows())).toEqual(['1', '3'])
    expect(backend.received).toEqual([other.id])
    const exported = await client.outbox.export()
    expect(exported.transactions[0]).toMatchObject({ version: 1, ops: [{ p: { name: 'Oat milk' } }] })

    // A later version can.
    await device.kill()
    device.log.length = 0
    const later = await device.live(modelsOf({ version: 3, migrate: { 2: { row: renamed, op: renamed } } }))
    expect(device.log).toEqual([])
    await backend.clock.until(later.outbox.retry(update.id).synced)
    await backend.clock.until(
      later.outbox.retry(insert.id, (m) => m.insert('Note', { id: '2', title: 'Mended' })).synced,
    )
    expect(await backend.rows()).toMatchObject({ 1: { title: 'Oat milk' }, 2: { title: 'Mended' } })
    expect(later.outbox.list()).toEqual([])
  })

  test('are rejected with their dependents', async () => {
    const backend = new TestBackend()
    const device = backend.device()
    const first = await device.live(modelsOf())
    await backend.clock.until(first.stop())
    first.mutate((m) => m.insert('Note', { id: '1', name: 'Milk' }), { label: 'Add' })
    await backend.clock.until(
      first.mutate((m) => m.update('Note', '1', { n: 2 }), { label: 'Count' }).durable,
    )
    await device.kill()
    const op = (value: TxOp) => (value.op === 'i' ? undefined : value)
    const client = await device.live(modelsOf({ version: 2, migrate: { 2: { op } } }))
    expect(device.log).toEqual(['rejected Add migration', 'rejected Count dependency_rejected'])
    expect([notes(client), backend.received]).toEqual([{}, []])
  })

  test('are kept if the server has accepted them', async () => {
    const backend = new TestBackend()
    await backend.insert('1', { name: 'Milk' })
    const device = backend.device()
    const first = await device.live({ ...modelsOf(), echoTimeout: 3_600_000, pollInterval: 3_600_000 })
    backend.push = () => {}
    const tx = first.mutate((m) => m.update('Note', '1', { name: 'Oat milk' }))
    await backend.clock.until(tx.accepted)
    await backend.clock.advance(10)
    await device.kill()
    const client = await offline(device, {
      version: 2,
      migrate: { 2: { row: renamed, op: () => undefined } },
    })
    expect(client.outbox.get(tx.id)?.state).toBe('accepted')
    device.network.mend()
    await backend.clock.advance(60_000)
    expect([client.outbox.list(), device.log, backend.received]).toEqual([[], [], [tx.id]])
  })

  test('that were rejected keep their reason', async () => {
    const backend = new TestBackend()
    await backend.insert('1', { name: 'Milk' })
    const device = backend.device()
    const first = await device.live(modelsOf())
    backend.intercept = at('tx', async () => failure(422, 'invalid'))
    const tx = first.mutate((m) => m.update('Note', '1', { name: 'Oat milk' }))
    await backend.clock.advance(5_000)
    await device.kill()
    for (const op of [renamed, () => undefined]) {
      const client = await offline(device, { version: 2, migrate: { 2: { row: renamed, op } } })
      expect(client.outbox.get(tx.id)?.rejection?.reason).toBe('invalid')
      await device.kill()
    }
  })
})

test('an undo that an older version made offline keeps later changes of others', async () => {
  const { backend, device, client } = await inStep({ 1: { name: 'Milk' } }, modelsOf())
  const update = client.mutate((m) => m.update('Note', '1', { name: 'Oat milk' }))
  await backend.clock.until(update.synced)
  await backend.clock.until(client.stop())
  const undone = (await backend.clock.until(update.undo())) || undefined
  await backend.clock.until(undone?.durable ?? Promise.reject())
  await device.kill()
  await backend.update('1', { title: 'Theirs' })
  const next = await device.live(modelsOf(two))
  await backend.clock.advance(60_000)
  expect(await backend.rows()).toMatchObject({ 1: { title: 'Theirs' } })
  expect(next.outbox.list()).toEqual([])
})

describe('a write that an older version sent, and whose response was lost', () => {
  /** The older version has sent `write`, and the new version has sent it again as it migrated it. */
  async function sentAgain(
    write: (m: Mutator) => void,
    { rewrite = (body) => body }: { readonly rewrite?: (body: Message) => unknown } = {},
  ) {
    const backend = new TestBackend()
    await backend.insert('1', { name: 'Milk' })
    const device = backend.device()
    const older = await device.live(modelsOf())
    backend.push = () => {}
    await backend.insert('2', { name: 'Bread' })
    backend.intercept = at('tx', async (_, pass) => {
      await pass()
      return failure(503)
    })
    const { id, durable } = older.mutate(write)
    await backend.clock.until(durable)
    await backend.clock.advance(20)
    await device.kill()
    backend.received.length = 0
    const answered = rewriting('tx', rewrite)
    // Deltas say nothing of the write yet, except the first, which says whose credentials they are.
    const isForCaller = ({ url }: Request) => url.endsWith(String(Number.MAX_SAFE_INTEGER))
    const silent = at('delta', async (request, pass) => (isForCaller(request) ? pass() : failure(503)))
    backend.intercept = (request, pass) => silent(request, () => answered(request, pass))
    const client = await device.live(modelsOf(two))
    expect(backend.received).toEqual([id])
    const catchUp = async () => {
      backend.intercept = (_, pass) => pass()
      await backend.clock.advance(60_000)
    }
    return { backend, device, client, id, catchUp }
  }

  test('invariant 21: is accepted once, as the older version sent it', async () => {
    const { backend, client, id, catchUp } = await sentAgain((m) =>
      m.update('Note', '1', { name: 'Oat milk' }),
    )
    const written = client.outbox.get(id)
    expect(written?.state).toBe('accepted')
    expect(await written?.accepted).toBe(3)
    await catchUp()
    expect(written?.state).toBe('synced')
    expect(await backend.rows()).toEqual({ 1: { name: 'Oat milk' }, 2: { name: 'Bread' } })
    expect(backend.head).toBe(3)
  })

  test('is rejected for the reason for which the server rejected it then', async () => {
    const { backend, device, client, id, catchUp } = await sentAgain((m) =>
      m.insert('Note', { id: '2', name: 'Cheese' }),
    )
    await catchUp()
    expect(client.outbox.get(id)?.state).toBe('rejected')
    expect(client.outbox.get(id)?.rejection?.reason).toBe('exists')
    expect(device.log).toContain('rejected undefined exists')
    expect(await backend.rows()).toEqual({ 1: { name: 'Milk' }, 2: { name: 'Bread' } })
  })

  describe('to a server that does not say what became of it', () => {
    const rewrite = ({ results = [], ...body }: Message) => ({
      ...body,
      results: results.map((result) =>
        'error' in result ? { ...result, error: { ...result.error, details: undefined } } : result,
      ),
    })

    test('is rejected as reused, and discarded once the data shows it', async () => {
      const update = (m: Mutator) => m.update('Note', '1', { name: 'Oat milk' })
      const { backend, client, id, catchUp } = await sentAgain(update, { rewrite })
      expect(client.outbox.get(id)?.rejection?.reason).toBe('id_reused')
      await catchUp()
      expect(client.outbox.list()).toEqual([])
      expect(await backend.rows()).toEqual({ 1: { name: 'Oat milk' }, 2: { name: 'Bread' } })
    })

    test('is rejected as reused, and waits for a decision if it did not happen', async () => {
      const insert = (m: Mutator) => m.insert('Note', { id: '2', name: 'Cheese' })
      const { device, client, id, catchUp } = await sentAgain(insert, { rewrite })
      await catchUp()
      expect(client.outbox.list().map((transaction) => transaction.id)).toEqual([id])
      expect(device.log).toContain('rejected undefined id_reused')
    })
  })
})

describe('stored rows of an older version', () => {
  test.each([
    ['gives nothing', () => undefined],
    ['gives what is no row', () => ({ title: 'Milk' }) as never],
    ['is asynchronous', (async () => {}) as () => never],
  ])('are fetched again, and the outbox stays, if the migration %s', async (_, row) => {
    const { backend, device, update } = await leftBehind()
    const client = await offline(device, { version: 2, migrate: { 2: { row, op: renamed } } })
    expect(client.status.data.state).toBe('none')
    expect(client.outbox.get(update.id)?.state).toBe('rejected')
    device.network.mend()
    await backend.clock.advance(60_000)
    expect(client.status.data.state).toBe('current')
    expect(notes(client)).toEqual(await backend.rows())
  })
})

test('invariant 12: an older version reads nothing of a newer one’s data, and keeps and sends its transactions', async () => {
  const { backend, device, update } = await leftBehind(modelsOf(two))
  const old = await offline(device, {})
  expect(old.status.data.state).toBe('none')
  expect(old.outbox.list()).toHaveLength(3)
  expect(old.outbox.get(update.id)?.state).toBe('queued')
  device.network.mend()
  await backend.clock.advance(60_000)
  expect(Object.keys(await backend.rows())).toEqual(['1', '2', '3'])
  expect([old.outbox.list(), notes(old)]).toEqual([[], await backend.rows()])
})
