import { expect, test } from 'vitest'
import { StorageError } from '../../src/base/errors.ts'
import { noDatabase } from '../../src/persistence/none.ts'
import { Opener } from '../../src/persistence/opener.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

const closed = new StorageError('closed', 'Closed.', { retryable: true })
const unavailable = new StorageError('unavailable', 'Not here.')

/** An opener, and how many databases it has opened and not closed. `fails`: none opens. */
function openerOf({ fails = false } = {}) {
  const clock = new VirtualClock()
  const count = { tried: 0, open: 0 }
  const opener = new Opener({
    openDatabase: async () => {
      count.tried += 1
      if (fails) throw unavailable
      count.open += 1
      const close = () => {
        count.open -= 1
      }
      return { ...noDatabase, close }
    },
    clock,
    listener: { failed() {}, lost() {}, reopened() {} },
  })
  /** Lets the engine close the database, and gives how long it took, in ms, until another was open. */
  const reopened = async () => {
    const began = clock.now()
    expect(await clock.until(opener.openAfter(opener.database, closed))).toBe(true)
    return clock.now() - began
  }
  return { clock, count, opener, reopened }
}

test('a database that is closed over and over is opened later each time, up to 8 s, and at once after a calm minute', async () => {
  const { clock, opener, reopened } = openerOf()
  await opener.open()
  const waits: number[] = []
  for (let n = 0; n < 6; n += 1) waits.push(await reopened())
  expect(waits).toEqual([0, 500, 2_000, 8_000, 8_000, 8_000])
  await clock.advance(59_000)
  expect(await reopened()).toBe(8_000)
  await clock.advance(61_000)
  expect(await reopened()).toBe(0)
})

test('closing does not wait for a planned opening, and leaves nothing open and no timer', async () => {
  const { clock, count, opener, reopened } = openerOf()
  await opener.open()
  await reopened()
  const { database } = opener
  const opening = opener.openAfter(database, closed)
  await clock.advance(100)
  await opener.close()
  expect([await opening, await opener.openAfter(database, closed)]).toEqual([false, false])
  expect([count, clock.timers]).toEqual([{ tried: 2, open: 0 }, 0])
})

test('opening is not tried again after close', async () => {
  const { clock, opener } = openerOf({ fails: true })
  expect([await opener.open(), clock.timers]).toEqual([false, 1])
  await opener.close()
  expect(clock.timers).toBe(0)
})
