import { expect, test } from 'vitest'
import { Resets } from '../../src/sync/resets.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

const minute = 60_000

function resetsAfter(clock: VirtualClock, fruitless: number): Resets {
  const resets = new Resets(clock)
  for (let n = 0; n < fruitless; n += 1) resets.made(5)
  return resets
}

test('a repair that may not be made yet is owed, and is no reason for a bootstrap until it may', async () => {
  const clock = new VirtualClock()
  const resets = new Resets(clock)
  const repairedAt = clock.now()
  expect([resets.repair(), resets.due]).toEqual([true, 'repair'])
  resets.made(5)
  await clock.advance(59 * minute)
  expect([resets.repair(), resets.due, resets.owedSince]).toEqual([false, undefined, repairedAt])
  await clock.advance(minute)
  expect([resets.repair(), resets.due, resets.owedSince]).toEqual([true, 'repair', undefined])
})

test('a repair that was owed before a restart is due an hour after the last one', async () => {
  const clock = new VirtualClock()
  const resets = new Resets(clock)
  resets.owe(clock.now() - 59 * minute)
  expect([resets.repair(), resets.due]).toEqual([false, undefined])
  await clock.advance(minute)
  expect([resets.repair(), resets.due]).toEqual([true, 'repair'])
})

test('what is owed is brought by a bootstrap of another cause', () => {
  const resets = new Resets(new VirtualClock())
  for (const due of [true, false]) {
    expect(resets.repair()).toBe(due)
    if (due) resets.made(5)
  }
  expect([resets.reset('gone'), resets.due]).toEqual([false, undefined])
  resets.continued()
  expect([resets.reset('gone'), resets.due, resets.owedSince]).toEqual([true, 'gone', undefined])
  expect([resets.repair(), resets.due]).toEqual([false, 'gone'])
  resets.made(6)
  expect([resets.due, resets.owedSince]).toEqual([undefined, undefined])
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
  const resets = new Resets(new VirtualClock())
  resets.made(0)
  expect(resets.reset('epoch')).toBe(true)
  resets.made(5)
  resets.continued()
  expect(resets.reset('epoch')).toBe(true)
})

test('empty bootstraps, however many, make none wait that follows the first rows', async () => {
  const clock = new VirtualClock()
  const resets = new Resets(clock)
  for (let n = 0; n < 9; n += 1) resets.made(0)
  resets.made(5)
  await clock.advance(minute)
  expect(resets.reset('gone')).toBe(true)
})

test('after a bootstrap of another history than the delta is of, the next one does not wait, and those after it do', () => {
  const resets = new Resets(new VirtualClock())
  resets.made(5)
  expect([resets.reset('epoch'), resets.due]).toEqual([true, 'epoch'])
  resets.made(5)
  expect(resets.reset('epoch')).toBe(false)
})
