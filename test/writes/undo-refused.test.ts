import type { SyncClient } from 'instep'
import { expect, test } from 'vitest'
import { inStep } from '../support/test-backend.ts'

const inbox = (client: SyncClient) => client.outbox.list({ state: 'rejected' })

test('a refused undo names the transaction that it undoes, also after a restart and a retry', async () => {
  let isClosed = false
  const authorize = () => (isClosed ? { message: 'It is closed.' } : undefined)
  const { backend, device, client } = await inStep({ 1: { title: 'Milk' } }, {}, { authorize })
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'Bread' }), { label: 'Rename' })
  await backend.clock.until(tx.synced)
  isClosed = true
  await backend.clock.until(tx.undo())
  await backend.clock.advance(10_000)
  expect(tx.undoOf).toBeUndefined()
  expect(inbox(client)).toMatchObject([{ label: 'Rename', undoOf: tx.id }])

  const restarted = await device.restart()
  await backend.clock.advance(10_000)
  const [refused] = inbox(restarted)
  expect(refused).toMatchObject({ label: 'Rename', undoOf: tx.id })
  expect(restarted.outbox.retry(refused?.id ?? '').undoOf).toBe(tx.id)
})
