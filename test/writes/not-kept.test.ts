import { expect, test } from 'vitest'
import { StorageError } from '../../src/base/errors.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { at, failure, TestBackend } from '../support/test-backend.ts'
import { watching, writesOutbox } from '../support/watching-store.ts'

test('a dependent that is rejected while the disk fails stays in the inbox, even after a restart', async () => {
  const backend = new TestBackend()
  let refusing = false
  const store = watching(memoryStore(), async (options) => {
    if (!refusing || !writesOutbox(options)) return
    refusing = false
    await backend.wait(1_000)
    throw new StorageError('aborted', 'Not now.')
  })
  backend.intercept = at('tx', () => backend.wait(500).then(() => failure(422, 'invalid')))
  const device = backend.device({ store })
  const client = await device.live()
  const root = client.mutate((m) => m.insert('Note', { id: '1' }))
  await backend.clock.advance(100)
  expect(root.state).toBe('sending')
  refusing = true
  const child = client.mutate((m) => m.update('Note', '1', { n: 1 }))
  await backend.clock.advance(5_000)
  expect([root.state, child.state]).toEqual(['rejected', 'rejected'])
  await device.kill()
  const again = device.client()
  await backend.clock.until(again.start())
  expect(again.outbox.list().map(({ id, rejection }) => [id, rejection?.reason])).toEqual([
    [root.id, 'invalid'],
    [child.id, 'dependency_rejected'],
  ])
})
