import { expect, test } from 'vitest'
import { StorageError } from '../../src/base/errors.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { inStep, notes } from '../support/test-backend.ts'
import { watching } from '../support/watching-store.ts'

test('invariant 18: an accepted write stays on disk until the stored data contains it', async () => {
  let isSlow = false
  const store = watching(memoryStore(), ({ mode, tables }) => {
    if (isSlow && mode === 'write' && tables.includes('journal')) {
      throw new StorageError('timeout', 'The disk is slow.')
    }
  })
  const { backend, device, client } = await inStep({ 1: { title: 'Milk', n: 1 } }, { store })
  isSlow = true
  const tx = client.mutate((m) => m.update('Note', '1', { n: 2 }))
  await backend.clock.advance(20_000)
  expect([tx.state, notes(client)]).toEqual(['synced', { 1: { title: 'Milk', n: 2 } }])
  await device.kill()
  device.network.cut()
  isSlow = false
  const again = device.client()
  await backend.clock.until(again.start())
  expect(notes(again)).toEqual({ 1: { title: 'Milk', n: 2 } })
})
