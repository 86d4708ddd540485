import { expect, test } from 'vitest'
import { memoryStore } from '../../src/storage/memory.ts'
import { notes, TestBackend } from '../support/test-backend.ts'
import { watching, writesOutbox } from '../support/watching-store.ts'

test('a write that one tab undoes just before another sends it is not sent, and is shown in neither', async () => {
  const backend = new TestBackend()
  let before = async () => {}
  const store = watching(memoryStore(), async (options) => {
    if (!writesOutbox(options)) return
    const now = before
    before = async () => {}
    await now()
  })
  const device = backend.device({ store })
  const writing = await device.live()
  await writing.stop()
  const tx = writing.mutate((m) => m.insert('Note', { id: '1' }))
  await backend.clock.until(tx.durable)
  // The other one has read it, and writes to the disk that it is about to send it.
  before = async () => void (await tx.undo())
  const other = await device.live()
  await backend.clock.advance(10_000)
  expect([tx.state, backend.received, device.log]).toEqual(['cancelled', [], []])
  expect([other.outbox.list(), notes(other), notes(writing)]).toEqual([[], {}, {}])
})
