import { expect, test } from 'vitest'
import { StorageError } from '../../src/base/errors.ts'
import type { SyncClient, Transaction } from '../../src/index.ts'
import { memoryStore } from '../../src/storage/memory.ts'
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
