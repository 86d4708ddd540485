import { expect, test } from 'vitest'
import { memoryStore } from '../../src/storage/memory.ts'
import { at, notes, Office } from '../support/office.ts'
import { watching, writesOutbox } from '../support/watching-store.ts'

test('what one tab takes back in the moment in which another is about to send it is not sent, and shown in neither', async () => {
  const office = await Office.open()
  let requests = 0
  office.intercept = at('tx', (_, pass) => {
    requests += 1
    return pass()
  })
  let before = async () => {}
  const store = watching(memoryStore(), async (options) => {
    if (!writesOutbox(options)) return
    const now = before
    before = async () => {}
    await now()
  })
  const desk = office.desk({ store })
  const writing = await desk.live()
  await writing.stop()
  const tx = writing.mutate((m) => m.insert('Note', { id: '1' }))
  await office.clock.until(tx.durable)
  // The other one has read it, and writes to the disk that it is about to send it.
  before = async () => void (await tx.undo())
  const other = await desk.live()
  await office.clock.advance(10_000)
  expect([tx.state, requests, desk.log]).toEqual(['cancelled', 0, []])
  expect([other.outbox.list(), notes(other), notes(writing)]).toEqual([[], {}, {}])
})
