import { expect, test } from 'vitest'
import { ResyncPolicy } from '../../src/engine/resync-policy.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

const minute = 60_000

function resetsAfter(clock: VirtualClock, fruitless: number): ResyncPolicy {
  const resets = new ResyncPolicy(clock)
  for (let n = 0; n < fruitless; n += 1) resets.made(5)
  return resets
}

test('a repair is due once it is owed, and not within an hour after the last one', async () => {
  const clock = new VirtualClock()
  const resets = new ResyncPolicy(clock)
  resets.owe()
  expect([resets.due, resets.isRepairDue]).toEqual([undefined, true])
  resets.made(5, clock.now())
  expect(resets.isRepairDue).toBe(false)
  resets.owe()
  await clock.advance(60 * minute - 1)
  expect(resets.isRepairDue).toBe(false)
  await clock.advance(1)
  expect(resets.isRepairDue).toBe(true)
})

test('what is known from before a restart counts, unless more is known by now', async () => {
  const clock = new VirtualClock()
  const owing = new ResyncPolicy(clock)
  owing.restore({ owed: true, at: clock.now() - 59 * minute })
  const other = new ResyncPolicy(clock)
  other.made(5, clock.now())
  other.owe()
  other.restore({ owed: false, at: clock.now() - 60 * minute })
  expect([owing.isRepairDue, other.isRepairDue]).toEqual([false, false])
  await clock.advance(minute)
  expect([owing.isRepairDue, other.isRepairDue]).toEqual([true, false])
})

test('what is owed is brought by a bootstrap of another cause, which is no repair', async () => {
  const clock = new VirtualClock()
  const resets = new ResyncPolicy(clock)
  resets.made(5, clock.now())
  resets.owe()
  resets.refill()
  expect(resets.due).toBe('repair')
  resets.continued()
  expect([resets.reset('gone'), resets.due]).toEqual([true, 'gone'])
  resets.refill()
  expect(resets.due).toBe('gone')
  await clock.advance(30 * minute)
  resets.made(6)
  expect(resets.due).toBeUndefined()
  await clock.advance(30 * minute)
  expect(resets.isRepairDue).toBe(false)
  resets.owe()
  expect(resets.isRepairDue).toBe(true)
})

test.each([1, 4, 16, 60, 60].map((minutes, before) => [before + 1, minutes]))(
  'after %i repairs that failed the next one waits %i minutes',
  async (failed, minutes) => {
    const clock = new VirtualClock()
    const resets = new ResyncPolicy(clock)
    resets.owe()
    for (let n = 0; n < failed; n += 1) resets.failed()
    await clock.advance(minutes * minute - 1)
    expect(resets.isRepairDue).toBe(false)
    await clock.advance(1)
    expect(resets.isRepairDue).toBe(true)
    resets.failed()
    resets.made(5)
    resets.owe()
    expect(resets.isRepairDue).toBe(true)
  },
)

test('a repair waits for as long as the server asks for', async () => {
  const clock = new VirtualClock()
  const resets = new ResyncPolicy(clock)
  resets.owe()
  resets.failed(5 * minute)
  await clock.advance(5 * minute - 1)
  expect(resets.isRepairDue).toBe(false)
  await clock.advance(1)
  expect(resets.isRepairDue).toBe(true)
})

test.each([
  [1, 1],
  [2, 4],
  [3, 16],
  [4, 60],
  [9, 60],
])('after %i bootstraps that no delta continues the next one waits %i minutes', async (made, minutes) => {
  const clock = new VirtualClock()
  const resets = resetsAfter(clock, made)
  await clock.advance(minutes * minute - 1)
  expect(resets.reset('refused')).toBe(false)
  await clock.advance(1)
  expect(resets.reset('refused')).toBe(true)
})

test('after an empty bootstrap, or one that a delta continues, the next one does not wait', () => {
  const resets = new ResyncPolicy(new VirtualClock())
  resets.made(0)
  expect(resets.reset('epoch')).toBe(true)
  resets.made(5)
  resets.continued()
  expect(resets.reset('epoch')).toBe(true)
})

test('empty bootstraps, however many, make none wait that follows the first rows', async () => {
  const clock = new VirtualClock()
  const resets = new ResyncPolicy(clock)
  for (let n = 0; n < 9; n += 1) resets.made(0)
  resets.made(5)
  await clock.advance(minute)
  expect(resets.reset('gone')).toBe(true)
})

test('after a bootstrap of another history than the delta is of, the next one does not wait, and those after it do', () => {
  const resets = new ResyncPolicy(new VirtualClock())
  resets.made(5)
  expect([resets.reset('epoch'), resets.due]).toEqual([true, 'epoch'])
  resets.made(5)
  expect(resets.reset('epoch')).toBe(false)
})
