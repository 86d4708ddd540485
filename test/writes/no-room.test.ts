import { expect, test } from 'vitest'
import { StorageError } from '../../src/base/errors.ts'
import type { Transaction } from '../../src/index.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { FullStore } from '../support/store-steps.ts'
import { inStep, notes, TestBackend } from '../support/test-backend.ts'
import { watching, writesOutbox } from '../support/watching-store.ts'

/** A backend with enough data for several pages, and a device whose disk lacks room for one write to the outbox. */
async function open() {
  const backend = new TestBackend()
  for (const id of ['1', '2', '3', '4', '5']) await backend.insert(id, { text: 'x'.repeat(600_000) })
  const is = { full: false }
  const store = watching(memoryStore(), (options) => {
    if (!is.full || !writesOutbox(options)) return
    is.full = false
    throw new StorageError('quota', 'The disk is full.')
  })
  const device = backend.device({ store })
  const client = device.client()
  const write = () => {
    is.full = true
    return client.mutate((m) => m.insert('Note', { id: 'mine' }))
  }
  return { backend, device, client, write }
}

test('invariant 33: a write that takes the room of a snapshot being stored leaves no incomplete snapshot', async () => {
  const { backend, device, client, write } = await open()
  let tx: Transaction | undefined
  client.on('status', ({ data }) => {
    if (!tx && data.state === 'loading' && (data.progress?.rows ?? 0) >= 4) tx = write()
  })
  await expect(backend.clock.until(client.sync())).rejects.toMatchObject({ name: 'StorageError' })
  await backend.clock.until(tx?.durable ?? Promise.reject(new Error('Nothing was written.')))
  expect(Object.keys(notes(client))).toEqual(['1', '2', '3', '4', '5', 'mine'])
  const again = await device.offline()
  expect([Object.keys(notes(again)), again.status.storage.reason]).toEqual([['mine'], undefined])
})

test('invariant 33: a write for which no tab can make room stays shown, and is stored once there is room', async () => {
  const backend = new TestBackend()
  const is = { full: false }
  const store = watching(memoryStore(), (options) => {
    if (is.full && writesOutbox(options)) throw new StorageError('quota', 'The disk is full.')
  })
  const device = backend.device({ store })
  const [older, newer] = [device.client(), device.client()]
  for (const client of [older, newer]) await backend.clock.until(client.sync())
  is.full = true
  device.network.cut()
  const tx = older.mutate((m) => m.insert('Note', { id: 'mine' }))
  await backend.clock.advance(60_000)
  expect(older.status.storage.reason).toBe('The disk is full.')
  expect(notes(older)).toEqual({ mine: {} })
  is.full = false
  await backend.clock.until(tx.durable)
})

/** A device that has lost its network and all room on its disk, on which a transaction waits to be sent. */
async function fullDesk() {
  const disk = new FullStore()
  const { backend, device, client } = await inStep({ 1: {} }, { store: disk.store })
  device.network.cut()
  const waiting = client.mutate((m) => m.insert('Note', { id: '2' }))
  await backend.clock.until(waiting.durable)
  await device.kill()
  device.network.cut()
  disk.full = true
  return { backend, device }
}

test('invariant 33: a start without room shows the stored data, and sends waiting writes', async () => {
  const { backend, device } = await fullDesk()
  const client = device.client()
  await client.start()
  expect(notes(client)).toEqual({ 1: {}, 2: {} })
  device.network.mend()
  await backend.clock.advance(60_000)
  expect(await backend.rows()).toEqual({ 1: {}, 2: {} })
})

test('invariant 33: a write after a start without room takes the room of the data', async () => {
  const { backend, device } = await fullDesk()
  const client = device.client()
  await client.start()
  const tx = client.mutate((m) => m.insert('Note', { id: '3' }))
  await backend.clock.until(tx.durable)
  const again = await device.offline()
  expect(notes(again)).toEqual({ 2: {}, 3: {} })
})
