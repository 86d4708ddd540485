import { IDBFactory } from 'fake-indexeddb'
import { expect, test } from 'vitest'
import { settle, VirtualClock } from '../support/virtual-clock.ts'

test('timers fire in order of their time, and equal ones in order of creation', async () => {
  const clock = new VirtualClock(0)
  const ran: unknown[] = []
  const note = (name: string) => () => ran.push([name, clock.now()])
  clock.after(20, note('late'))
  clock.after(10, note('first'))
  clock.after(10, note('second'))
  clock.after(5, note('cancelled'))()
  await clock.advance(15)
  expect(ran).toEqual([
    ['first', 10],
    ['second', 10],
  ])
  expect(clock.now()).toBe(15)
  expect(clock.timers).toBe(1)
})

test('a timer that a timer sets within the same advance fires, too', async () => {
  const clock = new VirtualClock(0)
  const ran: number[] = []
  const tick = () => {
    ran.push(clock.now())
    clock.after(10, tick)
  }
  clock.after(10, tick)
  await clock.advance(35)
  expect(ran).toEqual([10, 20, 30])
})

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

test('a pause yields, and advance waits for a loop of pauses', async () => {
  const clock = new VirtualClock(0)
  let turns = 0
  const work = async () => {
    for (turns = 0; turns < 50; turns += 1) await clock.pause()
  }
  void work()
  await settle()
  expect(turns).toBe(50)
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

test('until advances until a promise settles, and no further', async () => {
  const clock = new VirtualClock(0)
  const after = (ms: number) => new Promise<number>((resolve) => clock.after(ms, () => resolve(clock.now())))
  expect(await clock.until(after(30).then(() => after(12)))).toBe(42)
  expect(clock.now()).toBe(42)
  await expect(clock.until(Promise.reject(new Error('no')))).rejects.toThrow('no')
  await expect(clock.until(new Promise(() => {}), 1_000)).rejects.toThrow('Still pending')
})
