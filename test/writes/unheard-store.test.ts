import { expect, test } from 'vitest'
import { Deferred } from '../../src/base/deferred.ts'
import { StorageError } from '../../src/base/errors.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { withSteps } from '../support/store-steps.ts'
import { inStep, notes } from '../support/test-backend.ts'

/** A user at a store that can commit a write, and then fail to tell of its end. */
async function unheard() {
  const waiting: Deferred<void>[] = []
  let failing = 0
  const steps = withSteps(memoryStore(), {
    awaited: ({ name, mode }) => {
      if (name !== 'complete' || mode !== 'write' || failing === 0) return
      failing -= 1
      const end = new Deferred<void>()
      waiting.push(end)
      return end.promise
    },
    immediate() {},
  })
  const { backend, device, client } = await inStep(
    { 1: { title: 'base' } },
    { store: { ...steps, kind: 'durable' } },
  )
  const type = (title: string) => client.mutate((m) => m.update('Note', '1', { title }))
  return {
    backend,
    device,
    client,
    type,
    /** The next `writes` are not heard of, until they fail. */
    from: (writes: number) => {
      failing = writes
    },
    fail: async () => {
      const end = waiting.shift()
      if (!end) throw new Error('Nothing was written.')
      end.reject(new StorageError('unavailable', 'No end was told.'))
      await backend.clock.advance(1)
    },
  }
}

test('a write after a retry is sent if the store commits the retry without saying so', async () => {
  const { backend, device, client, type, from, fail } = await unheard()
  device.network.cut()
  const refused = client.mutate((m) => m.update('Note', '1', { title: 'mine' }, { ifUnchanged: true }))
  await backend.clock.until(refused.durable)
  await backend.update('1', { title: 'theirs' })
  device.network.mend()
  device.toFront()
  await backend.clock.advance(60_000)
  expect(refused.state).toBe('rejected')
  await backend.clock.until(client.stop())
  from(1)
  client.outbox.retry(refused.id, (m) => m.update('Note', '1', { title: 'again' }))
  await backend.clock.advance(1)
  const typed = type('typed')
  await fail()
  await backend.clock.until(client.start())
  await backend.clock.advance(60_000)
  expect(typed.state).toBe('synced')
  expect(notes(client)).toEqual({ 1: { title: 'typed' } })
  expect(await backend.rows()).toEqual({ 1: { title: 'typed' } })
})
