import { IDBFactory } from 'fake-indexeddb'
import { expect, test } from 'vitest'
import { VirtualClock } from '../support/virtual-clock.ts'

test('advance waits for all effects, however many turns they take', async () => {
  const clock = new VirtualClock(0)
  let stored = false
  const open = new IDBFactory().open('db')
  open.onupgradeneeded = () => open.result.createObjectStore('s')
  clock.after(10, async () => {
    const text = await new Response(new Blob(['x'.repeat(100_000)]).stream()).text()
    const tx = open.result.transaction('s', 'readwrite')
    for (let key = 0; key < 20; key += 1) tx.objectStore('s').put(text.length, key)
    tx.oncomplete = () => {
      stored = true
    }
  })
  await clock.advance(10)
  expect(stored).toBe(true)
})

test('time stops during real work, even if that fails', async () => {
  const clock = new VirtualClock(0)
  const failed = clock.during(
    new Promise((_, reject) => {
      setImmediate(() => setImmediate(reject, new Error('no')))
    }),
  )
  let ended = false
  failed.catch(() => {
    ended = true
  })
  clock.after(10, () => expect(ended).toBe(true))
  await clock.advance(10)
  await expect(failed).rejects.toThrow('no')
  expect(clock.timers).toBe(0)
})
