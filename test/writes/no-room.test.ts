import { expect, test } from 'vitest'
import { StorageError } from '../../src/base/errors.ts'
import type { SyncClient, Transaction } from '../../src/index.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { FullStore } from '../support/full-store.ts'
import { notes, Office } from '../support/office.ts'
import { watching, writesOutbox } from '../support/watching-store.ts'

/** An office with enough data for several pages, and a desk whose disk lacks room for one write to the outbox. */
async function open() {
  const office = await Office.open()
  for (const id of ['1', '2', '3', '4', '5']) await office.insert(id, { text: 'x'.repeat(600_000) })
  const is = { full: false }
  const store = watching(memoryStore(), (options) => {
    if (!is.full || !writesOutbox(options)) return
    is.full = false
    throw new StorageError('quota', 'The disk is full.')
  })
  const desk = office.desk({ store })
  const client = desk.client()
  const write = () => {
    is.full = true
    return client.mutate((m) => m.insert('Note', { id: 'mine' }))
  }
  return { office, desk, client, write }
}

type Scene = Awaited<ReturnType<typeof open>>

/** What is there after a restart without the network. */
async function restarted({ office, desk }: Scene): Promise<SyncClient> {
  await desk.kill()
  desk.network.cut()
  const again = desk.client()
  await office.clock.until(again.start())
  return again
}

test('invariant 33: a write that takes the room of a snapshot under way leaves no snapshot with holes', async () => {
  const scene = await open()
  const { office, client, write } = scene
  let tx: Transaction | undefined
  client.on('status', ({ data }) => {
    if (!tx && data.state === 'loading' && (data.progress?.rows ?? 0) >= 4) tx = write()
  })
  await expect(office.clock.until(client.sync())).rejects.toMatchObject({ name: 'StorageError' })
  await office.clock.until(tx?.durable ?? Promise.reject(new Error('Nothing was written.')))
  expect(Object.keys(notes(client))).toEqual(['1', '2', '3', '4', '5', 'mine'])
  const again = await restarted(scene)
  expect([Object.keys(notes(again)), again.status.storage.reason]).toEqual([['mine'], undefined])
})

test('a write that another tab’s data leaves no room for fails for want of room, and not as if it were kept', async () => {
  const office = await Office.open()
  const is = { full: false }
  const store = watching(memoryStore(), (options) => {
    if (is.full && writesOutbox(options)) throw new StorageError('quota', 'The disk is full.')
  })
  const desk = office.desk({ store })
  const [older, newer] = [desk.client(), desk.client()]
  for (const client of [older, newer]) await office.clock.until(client.sync())
  is.full = true
  const tx = older.mutate((m) => m.insert('Note', { id: 'mine' }))
  await expect(office.clock.until(tx.durable)).rejects.toMatchObject({ code: 'quota' })
  expect(older.status.storage.reason).toBe('The disk is full.')
})

/** A desk that has lost its network and all room on its disk, on which a transaction waits to be sent. */
async function fullDesk() {
  const office = await Office.open()
  await office.insert('1')
  const disk = new FullStore()
  const desk = office.desk({ store: disk.store })
  const client = await desk.live()
  desk.network.cut()
  const waiting = client.mutate((m) => m.insert('Note', { id: '2' }))
  await office.clock.until(waiting.durable)
  await desk.kill()
  desk.network.cut()
  disk.full = true
  return { office, desk }
}

test('invariant 33: a start without room shows what is stored, and sends what waits', async () => {
  const { office, desk } = await fullDesk()
  const client = desk.client()
  await client.start()
  expect(notes(client)).toEqual({ 1: {}, 2: {} })
  desk.network.mend()
  await office.clock.advance(60_000)
  expect(await office.rows()).toEqual({ 1: {}, 2: {} })
})

test('invariant 33: what is written after a start without room takes the room of the data', async () => {
  const { office, desk } = await fullDesk()
  const client = desk.client()
  await client.start()
  const tx = client.mutate((m) => m.insert('Note', { id: '3' }))
  await office.clock.until(tx.durable)
  await desk.kill()
  desk.network.cut()
  const again = desk.client()
  await again.start()
  expect(notes(again)).toEqual({ 2: {}, 3: {} })
})
