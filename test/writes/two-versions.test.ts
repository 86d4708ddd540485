import { describe, expect, test } from 'vitest'
import * as z from 'zod/mini'
import { defineModels, model } from '../../src/index.ts'
import type { WireRow } from '../../src/protocol/row.ts'
import type { TxOp } from '../../src/protocol/tx.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { at, failure, notes, TestBackend, type TestDevice, watched } from '../support/test-backend.ts'
import { watching, writesOutbox } from '../support/watching-store.ts'

const Note = z.looseObject({})

/** The option of a client with the models of an application whose each version notes itself in what it migrates. */
function modelsOf(version: number, load: 'eager' | 'lazy' = 'eager'): object {
  const step = <T extends TxOp | WireRow>(value: T): T =>
    'p' in value ? { ...value, p: { ...value.p, version } } : value
  const options = version > 1 ? { version, migrate: { [version]: { row: step, op: step } } } : {}
  return { models: defineModels({ Note: model(Note, { load }) }, options) }
}

/** Two tabs offline, the second of a newer version of the application: both have what was written in the first. */
async function twoVersions() {
  const backend = new TestBackend()
  await backend.insert('1', { version: 2 })
  const store = memoryStore()
  const devices = [backend.device({ store }), backend.device({ store })] as const
  const older = await devices[0].live(modelsOf(1))
  for (const { network } of devices) network.cut()
  const written = older.mutate((m) => m.insert('Note', { id: '2', title: 'Bread' }))
  await backend.clock.until(written.durable)
  const newer = devices[1].client(modelsOf(2))
  await newer.start()
  const mend = async ({ network }: TestDevice) => {
    network.mend()
    await backend.clock.advance(60_000)
  }
  const expectOnce = async () => {
    const rows = await backend.rows()
    expect(rows).toMatchObject({ 2: { title: 'Bread' } })
    expect([notes(older), notes(newer)]).toEqual([rows, rows])
    expect([older.outbox.list(), newer.outbox.list()]).toEqual([[], []])
    expect(devices.flatMap(({ log }) => log.filter((line) => line.startsWith('rejected')))).toEqual([])
    expect(written.state).toBe('synced')
  }
  return { backend, devices, older, mend, expectOnce }
}

test('a write that the older version sent is accepted once when the newer version sends it again', async () => {
  const { backend, devices, mend, expectOnce } = await twoVersions()
  await mend(devices[0])
  // Or the data would say that it was done.
  backend.intercept = at('delta', async () => failure(503))
  await mend(devices[1])
  backend.intercept = (_, pass) => pass()
  await backend.clock.advance(60_000)
  await expectOnce()
})

test('the older version counts a write that the newer one sent and saw as done, and keeps showing it', async () => {
  const { backend, devices, older, mend, expectOnce } = await twoVersions()
  await mend(devices[1])
  const titles = watched(older, '2', 'title')
  backend.intercept = at('delta', async () => failure(503))
  await mend(devices[0])
  backend.intercept = (_, pass) => pass()
  await backend.clock.advance(60_000)
  await expectOnce()
  expect(titles).toEqual(['Bread'])
})

test('the older version without data counts a write that the newer one sent and saw as done', async () => {
  const backend = new TestBackend()
  const store = memoryStore()
  const devices = [backend.device({ store }), backend.device({ store })] as const
  for (const { network } of devices) network.cut()
  const older = devices[0].client(modelsOf(1))
  await older.start()
  const written = older.mutate((m) => m.insert('Note', { id: '2', title: 'Bread' }))
  await backend.clock.until(written.durable)
  devices[1].network.mend()
  const newer = await devices[1].live(modelsOf(2))
  expect(newer.outbox.list()).toEqual([])
  backend.server.late(5_000, { endpoint: 'bootstrap' })
  devices[0].network.mend()
  await backend.clock.advance(60_000)
  expect([written.state, older.outbox.list()]).toEqual(['synced', []])
  expect(notes(older)).toEqual(await backend.rows())
})

test('a write that the newer version sent is accepted once when the older version sends it again', async () => {
  const { backend, devices, mend, expectOnce } = await twoVersions()
  backend.intercept = at('tx', async (_, pass) => {
    await pass()
    devices[1].network.cut()
    throw new TypeError('fetch failed')
  })
  await mend(devices[1])
  backend.intercept = (_, pass) => pass()
  await mend(devices[0])
  await mend(devices[1])
  await expectOnce()
})

test('a write that the newer version sent and saw is done if the disk kept the older one from undoing it', async () => {
  const backend = new TestBackend()
  const store = memoryStore()
  let hangs = false
  const disk = watching(store, (options) => {
    if (!hangs || !writesOutbox(options)) return
    hangs = false
    return new Promise<void>(() => {})
  })
  const devices = [backend.device({ store: disk }), backend.device({ store })] as const
  const older = await devices[0].live(modelsOf(1))
  await backend.clock.until(older.stop())
  const written = older.mutate((m) => m.insert('Note', { id: '2', title: 'Bread' }))
  await backend.clock.until(written.durable)
  hangs = true
  const undone = written.undo()
  const newer = await devices[1].live(modelsOf(2))
  await backend.clock.advance(5_000)
  expect([await backend.rows(), newer.outbox.list()]).toMatchObject([{ 2: { title: 'Bread' } }, []])
  await expect(backend.clock.until(undone)).rejects.toMatchObject({ code: 'timeout' })
  // Or the data would say that it was done.
  backend.intercept = at('delta', async () => failure(503))
  await older.start()
  await backend.clock.advance(60_000)
  backend.intercept = (_, pass) => pass()
  await backend.clock.advance(60_000)
  expect([written.state, older.outbox.list()]).toEqual(['synced', []])
  expect(notes(older)).toEqual(await backend.rows())
})

describe('a write that the newer version cannot migrate, and the older one has not sent', () => {
  /** The older one does not send. */
  async function parked() {
    const backend = new TestBackend()
    const store = memoryStore()
    const older = await backend.device({ store }).live(modelsOf(1))
    await backend.clock.until(older.stop())
    const written = older.mutate((m) => m.insert('Note', { id: '2', title: 'Bread' }))
    await backend.clock.until(written.durable)
    const op = () => undefined
    const models = defineModels({}, { version: 2, migrate: { 2: { op } } })
    const newer = await backend.device({ store }).live({ models })
    expect(newer.outbox.get(written.id)?.rejection?.reason).toBe('migration')
    const send = async () => {
      await backend.clock.until(older.start())
      await backend.clock.advance(60_000)
    }
    return { backend, store, models, older, newer, written, send }
  }

  test('does not happen once it was discarded', async () => {
    const { backend, older, newer, written, send } = await parked()
    await backend.clock.until(newer.outbox.discard(written.id))
    await send()
    expect([written.state, backend.received, older.outbox.list()]).toEqual(['cancelled', [], []])
  })

  test('happens once if it was retried', async () => {
    const { backend, older, newer, written, send } = await parked()
    const again = newer.outbox.retry(written.id)
    await backend.clock.until(again.synced)
    await send()
    expect([written.state, backend.received, older.outbox.list()]).toEqual(['cancelled', [again.id], []])
    expect(await backend.rows()).toEqual({ 2: { title: 'Bread' } })
  })

  test('happens if the older version sends it', async () => {
    const { backend, store, models, newer, written, send } = await parked()
    await send()
    expect([written.state, notes(newer)]).toEqual(['synced', { 2: { title: 'Bread' } }])
    expect([newer.outbox.list(), newer.status.writes.rejected]).toEqual([[], 0])
    const { transactions } = await backend.clock.until(newer.outbox.export())
    expect(transactions).toEqual([])
    await backend.clock.until(newer.close())
    const next = await backend.device({ store }).live({ models })
    expect(next.outbox.list()).toEqual([])
  })
})
