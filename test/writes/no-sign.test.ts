import { expect, test } from 'vitest'
import { memoryStore } from '../../src/storage/memory.ts'
import { withSteps } from '../support/store-steps.ts'
import { inStep } from '../support/test-backend.ts'

test('a write that the disk dropped silently is shown, and stored again', async () => {
  let silent = false
  const store = withSteps(memoryStore(), {
    awaited: ({ name, mode }) => {
      if (!silent || name !== 'complete' || mode !== 'write') return undefined
      silent = false
      return new Promise<void>(() => {})
    },
    immediate() {},
  })
  const { backend, device, client } = await inStep({}, { store })
  await client.stop()
  const tx = client.mutate((m) => m.insert('Note', { id: '1' }))
  await backend.clock.until(tx.durable)
  silent = true
  await expect(backend.clock.until(tx.undo())).rejects.toMatchObject({ code: 'timeout' })
  expect(tx.state).toBe('queued')
  await device.kill()
  const again = device.client()
  await backend.clock.until(again.start())
  expect(again.outbox.list().map(({ id }) => id)).toEqual([tx.id])
})
