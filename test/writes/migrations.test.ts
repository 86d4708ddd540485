import { describe, expect, test } from 'vitest'
import * as z from 'zod/mini'
import { defineModels, type ModelsOptions, model } from '../../src/index.ts'
import type { WireRow } from '../../src/protocol/row.ts'
import type { TxOp } from '../../src/protocol/tx.ts'
import { at, type Desk, failure, notes, Office } from '../support/office.ts'

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
async function leftBehind(options: Parameters<Desk['live']>[0] = modelsOf()) {
  const office = await Office.open()
  await office.insert('1', { name: 'Milk' })
  const desk = office.desk()
  const client = await desk.live(options)
  await office.clock.until(client.stop())
  const update = client.mutate((m) => m.update('Note', '1', { name: 'Oat milk' }), { label: 'Rename' })
  const insert = client.mutate((m) => m.insert('Note', { id: '2', name: 'Bread' }), { label: 'Add' })
  const other = client.mutate((m) => m.insert('Note', { id: '3', other: true }), { label: 'Other' })
  await office.clock.until(other.durable)
  await desk.kill()
  return { office, desk, update, insert, other }
}

/** The new version, before it has a network. */
async function offline(desk: Desk, options: ModelsOptions) {
  desk.network.cut()
  const client = desk.client(modelsOf(options))
  await client.start()
  return client
}

describe('queued transactions of an older version', () => {
  test('are migrated with the data, shown so, and sent so', async () => {
    const { office, desk, update } = await leftBehind()
    const client = await offline(desk, two)
    expect(notes(client)).toEqual({ 1: { title: 'Oat milk' }, 2: { title: 'Bread' }, 3: { other: true } })
    expect(client.outbox.get(update.id)?.records).toMatchObject([
      { base: { title: 'Milk' }, mine: { title: 'Oat milk' }, theirs: { title: 'Milk' } },
    ])
    desk.network.mend()
    await office.clock.advance(60_000)
    expect(await office.rows()).toMatchObject({
      1: { title: 'Oat milk' },
      2: { title: 'Bread' },
      3: { other: true },
    })
    expect(client.outbox.list()).toEqual([])
  })

  test('bring with them the records of the type that they have now', async () => {
    const { office, desk, update } = await leftBehind()
    const moved = <T extends TxOp | WireRow>(value: T): T => ({ ...value, t: 'Memo' })
    const models = defineModels(
      { Memo: model(Note, { load: 'lazy' }) },
      { version: 2, migrate: { 2: { row: moved, op: moved } } },
    )
    desk.network.cut()
    const client = desk.client({ models })
    await client.start()
    await office.clock.advance(1_000)
    expect(client.outbox.get(update.id)?.records).toMatchObject([
      { type: 'Memo', mine: { name: 'Oat milk' }, theirs: { name: 'Milk' } },
    ])
  })

  test('go through several versions at once, also where they were made in different ones', async () => {
    const { office, desk } = await leftBehind()
    const second = await offline(desk, two)
    await office.clock.until(second.mutate((m) => m.insert('Note', { id: '4', title: 'Cake' })).durable)
    await desk.kill()
    const client = await offline(desk, {
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
    desk.network.mend()
    await office.clock.advance(60_000)
    expect(await office.rows()).toMatchObject(shown)
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
  ])('invariant 12: are parked and told, never lost, where the migration %s', async (_, give) => {
    const { office, desk, update, insert, other } = await leftBehind()
    const op = (value: TxOp) => (value.op !== 'd' && 'name' in value.p ? give() : value)
    const options = { version: 2, migrate: { 2: { row: renamed, op } } }
    const client = await offline(desk, options)
    expect(notes(client)).toEqual({ 1: { title: 'Milk' }, 3: { other: true } })
    expect(desk.log).toEqual(['rejected Rename migration', 'rejected Add migration'])
    desk.network.mend()
    await office.clock.advance(60_000)
    expect(client.outbox.list().map(({ id, state }) => [id, state])).toEqual([
      [update.id, 'rejected'],
      [insert.id, 'rejected'],
    ])
    expect(Object.keys(await office.rows())).toEqual(['1', '3'])
    expect(office.received).toEqual([other.id])
    const exported = await client.outbox.export()
    expect(exported.transactions[0]).toMatchObject({ version: 1, ops: [{ p: { name: 'Oat milk' } }] })

    // A later version can.
    await desk.kill()
    desk.log.length = 0
    const later = await desk.live(modelsOf({ version: 3, migrate: { 2: { row: renamed, op: renamed } } }))
    expect(desk.log).toEqual([])
    await office.clock.until(later.outbox.retry(update.id).synced)
    await office.clock.until(
      later.outbox.retry(insert.id, (m) => m.insert('Note', { id: '2', title: 'Mended' })).synced,
    )
    expect(await office.rows()).toMatchObject({ 1: { title: 'Oat milk' }, 2: { title: 'Mended' } })
    expect(later.outbox.list()).toEqual([])
  })

  test('take with them what requires them', async () => {
    const office = await Office.open()
    const desk = office.desk()
    const first = await desk.live(modelsOf())
    await office.clock.until(first.stop())
    first.mutate((m) => m.insert('Note', { id: '1', name: 'Milk' }), { label: 'Add' })
    await office.clock.until(first.mutate((m) => m.update('Note', '1', { n: 2 }), { label: 'Count' }).durable)
    await desk.kill()
    const op = (value: TxOp) => (value.op === 'i' ? undefined : value)
    const client = await desk.live(modelsOf({ version: 2, migrate: { 2: { op } } }))
    expect(desk.log).toEqual(['rejected Add migration', 'rejected Count dependency_rejected'])
    expect([notes(client), office.received]).toEqual([{}, []])
  })

  test('that the server has accepted are not parked for it', async () => {
    const office = await Office.open()
    await office.insert('1', { name: 'Milk' })
    const desk = office.desk()
    const first = await desk.live({ ...modelsOf(), echoTimeout: 3_600_000, pollInterval: 3_600_000 })
    office.push = () => {}
    const tx = first.mutate((m) => m.update('Note', '1', { name: 'Oat milk' }))
    await office.clock.until(tx.accepted)
    await office.clock.advance(10)
    await desk.kill()
    const client = await offline(desk, { version: 2, migrate: { 2: { row: renamed, op: () => undefined } } })
    expect(client.outbox.get(tx.id)?.state).toBe('accepted')
    desk.network.mend()
    await office.clock.advance(60_000)
    expect([client.outbox.list(), desk.log, office.received]).toEqual([[], [], [tx.id]])
  })

  test('that the server has, and whose answer was lost, happen once: they are sent in each shape that they may have been sent in', async () => {
    const office = await Office.open()
    await office.insert('1', { name: 'Milk' })
    const desk = office.desk()
    const first = await desk.live(modelsOf())
    office.push = () => {}
    office.intercept = at('tx', async (_, pass) => {
      await pass()
      return failure(503)
    })
    const tx = first.mutate((m) => m.update('Note', '1', { name: 'Oat milk' }))
    await office.clock.until(tx.durable)
    await office.clock.advance(20)
    await desk.kill()
    const second = await offline(desk, two)
    expect(notes(second)).toEqual({ 1: { title: 'Oat milk' } })
    await desk.kill()
    desk.network.mend()
    // The delta that is asked for before anything is sent tells whose credentials they are.
    const isForCaller = ({ url }: Request) => url.endsWith(String(Number.MAX_SAFE_INTEGER))
    office.intercept = at('delta', async (request, pass) => (isForCaller(request) ? pass() : failure(503)))
    office.received.length = 0
    const options = { version: 4, migrate: { ...two.migrate, 4: { row: counted, op: counted } } }
    const third = await desk.live(modelsOf(options))
    const sent = third.outbox.get(tx.id)
    expect([sent?.state, office.received]).toEqual(['accepted', [tx.id, tx.id, tx.id]])
    office.intercept = (_, pass) => pass()
    await office.clock.advance(60_000)
    expect(sent?.state).toBe('synced')
    expect(await office.rows()).toEqual({ 1: { name: 'Oat milk' } })
    expect((await office.log.position()).head).toBe(2)
  })

  test('that were rejected keep their reason', async () => {
    const office = await Office.open()
    await office.insert('1', { name: 'Milk' })
    const desk = office.desk()
    const first = await desk.live(modelsOf())
    office.intercept = at('tx', async () => failure(422, 'invalid'))
    const tx = first.mutate((m) => m.update('Note', '1', { name: 'Oat milk' }))
    await office.clock.advance(5_000)
    await desk.kill()
    for (const op of [renamed, () => undefined]) {
      const client = await offline(desk, { version: 2, migrate: { 2: { row: renamed, op } } })
      expect(client.outbox.get(tx.id)?.rejection?.reason).toBe('invalid')
      await desk.kill()
    }
  })
})

describe('stored rows of an older version', () => {
  test.each([
    ['gives nothing', () => undefined],
    ['gives what is no row', () => ({ title: 'Milk' }) as never],
    ['is asynchronous', (async () => {}) as () => never],
  ])('are fetched again, and the outbox stays, where the migration %s', async (_, row) => {
    const { office, desk, update } = await leftBehind()
    const client = await offline(desk, { version: 2, migrate: { 2: { row, op: renamed } } })
    expect(client.status.data.state).toBe('none')
    expect(client.outbox.get(update.id)?.state).toBe('rejected')
    desk.network.mend()
    await office.clock.advance(60_000)
    expect(client.status.data.state).toBe('current')
    expect(notes(client)).toEqual(await office.rows())
  })
})

test('invariant 12: an older version reads nothing of a newer one’s data, and keeps and sends its transactions', async () => {
  const { office, desk, update } = await leftBehind(modelsOf(two))
  const old = await offline(desk, {})
  expect(old.status.data.state).toBe('none')
  expect(old.outbox.list()).toHaveLength(3)
  expect(old.outbox.get(update.id)?.state).toBe('queued')
  desk.network.mend()
  await office.clock.advance(60_000)
  expect(Object.keys(await office.rows())).toEqual(['1', '2', '3'])
  expect([old.outbox.list(), notes(old)]).toEqual([[], await office.rows()])
})
