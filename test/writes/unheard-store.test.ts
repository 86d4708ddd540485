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
  const type = (title: string) =>
    client.mutate((m) => m.update('Note', '1', { title }), { coalesce: 'title' })
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

test('what is typed while the store commits twice without telling is sent as it is in the end', async () => {
  const { office, client, type, from, fail } = await unheard()
  await office.clock.until(client.stop())
  from(2)
  type('one')
  await office.clock.advance(1)
  type('two')
  await fail()
  const last = type('three')
  await fail()
  await office.clock.until(client.start())
  await office.clock.advance(60_000)
  expect(last.state).toBe('synced')
  expect(await office.rows()).toEqual({ 1: { title: 'three' } })
  expect(client.outbox.list()).toEqual([])
})

test('nor is what is typed behind a try of what was rejected lost, where that is committed without being told', async () => {
  const { office, desk, client, type, from, fail } = await unheard()
  desk.network.cut()
  const refused = client.mutate((m) => m.update('Note', '1', { title: 'mine' }, { ifUnchanged: true }), {
    coalesce: 'title',
  })
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
