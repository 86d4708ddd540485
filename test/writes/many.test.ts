import { expect, test } from 'vitest'
import { memoryStore } from '../../src/storage/memory.ts'
import { withSteps } from '../support/store-steps.ts'
import { inStep, notes } from '../support/test-backend.ts'

const count = 200

test('while the disk is slow, the end of each write is stored once', async () => {
  let puts = 0
  let wait = () => Promise.resolve()
  const store = withSteps(memoryStore(), {
    awaited: ({ name, mode }) => (name === 'complete' && mode === 'write' ? wait() : undefined),
    immediate({ name, table }) {
      if (name === 'put' && table === 'outbox') puts += 1
    },
  })
  const { backend, client } = await inStep({ 1: {} }, { store })
  wait = () => backend.wait(100)
  for (let n = 0; n < count; n += 1) client.mutate((m) => m.insert('Note', { id: `n${n}`, n }))
  await backend.clock.advance(120_000)
  expect(client.status.writes.pending).toBe(0)
  // Stored as queued, as sent, as accepted if its data comes later, and as ended.
  expect(puts).toBeLessThanOrEqual(4 * count)
})

test('many writes to one record are sent in order, and all of them are shown', async () => {
  const { backend, device, client } = await inStep({ 1: { n: -1 } })
  device.network.cut()
  for (let n = 0; n < count; n += 1) client.mutate((m) => m.update('Note', '1', { n, [`f${n}`]: n }))
  await backend.update('1', { other: true })
  device.network.mend()
  await backend.clock.advance(60_000)
  expect(client.status.writes.pending).toBe(0)
  expect(notes(client)).toEqual(await backend.rows())
  expect(client.get('Note', '1')).toMatchObject({ n: count - 1, f0: 0, other: true })
})
