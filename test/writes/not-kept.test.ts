import { expect, test } from 'vitest'
import { StorageError } from '../../src/base/errors.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { at, failure, Office } from '../support/office.ts'
import { watching, writesOutbox } from '../support/watching-store.ts'

test('what is rejected for another while the disk refuses to take it waits in the outbox, also after a restart', async () => {
  const office = await Office.open()
  const wait = (ms: number) => new Promise<void>((resolve) => void office.clock.after(ms, resolve))
  let refusing = false
  const store = watching(memoryStore(), async (options) => {
    if (!refusing || !writesOutbox(options)) return
    refusing = false
    await wait(1_000)
    throw new StorageError('aborted', 'Not now.')
  })
  office.intercept = at('tx', async () => {
    await wait(500)
    return failure(422, 'invalid')
  })
  const desk = office.desk({ store })
  const client = await desk.live()
  const root = client.mutate((m) => m.insert('Note', { id: '1' }))
  await office.clock.advance(100)
  expect(root.state).toBe('sending')
  refusing = true
  const child = client.mutate((m) => m.update('Note', '1', { n: 1 }))
  await office.clock.advance(5_000)
  expect([root.state, child.state]).toEqual(['rejected', 'rejected'])
  await desk.kill()
  const again = desk.client()
  await office.clock.until(again.start())
  expect(again.outbox.list().map(({ id, rejection }) => [id, rejection?.reason])).toEqual([
    [root.id, 'invalid'],
    [child.id, 'dependency_rejected'],
  ])
})
