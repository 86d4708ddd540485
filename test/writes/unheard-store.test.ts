import { expect, test } from 'vitest'
import { Deferred } from '../../src/base/deferred.ts'
import { StorageError } from '../../src/base/errors.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { notes, Office } from '../support/office.ts'
import { withSteps } from '../support/store-steps.ts'

/** A user at a store that can commit a write, and then fail to tell of its end. */
async function unheard() {
  const office = await Office.open()
  await office.insert('1', { title: 'base' })
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
  const desk = office.desk({ store: { ...steps, kind: 'durable' } })
  const client = await desk.live()
  const type = (title: string) => client.mutate((m) => m.update('Note', '1', { title }))
  return {
    office,
    desk,
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
      await office.clock.advance(1)
    },
  }
}

test('a write after a retry is sent if the store commits the retry without saying so', async () => {
  const { office, desk, client, type, from, fail } = await unheard()
  desk.network.cut()
  const refused = client.mutate((m) => m.update('Note', '1', { title: 'mine' }, { ifUnchanged: true }))
  await office.clock.until(refused.durable)
  await office.update('1', { title: 'theirs' })
  desk.network.mend()
  for (const visible of [false, true]) desk.environment.lifecycle.set({ visible })
  await office.clock.advance(60_000)
  expect(refused.state).toBe('rejected')
  await office.clock.until(client.stop())
  from(1)
  client.outbox.retry(refused.id, (m) => m.update('Note', '1', { title: 'again' }))
  await office.clock.advance(1)
  const typed = type('typed')
  await fail()
  await office.clock.until(client.start())
  await office.clock.advance(60_000)
  expect(typed.state).toBe('synced')
  expect([notes(client), await office.rows()]).toEqual([{ 1: { title: 'typed' } }, { 1: { title: 'typed' } }])
})
