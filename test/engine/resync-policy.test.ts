import { expect, test } from 'vitest'
import { ResyncPolicy } from '../../src/engine/resync-policy.ts'
import { VirtualClock } from '../support/virtual.ts'

const minute = 60_000

function resetsAfter(clock: VirtualClock, fruitless: number): ResyncPolicy {
  const resets = new ResyncPolicy(clock)
  for (let n = 0; n < fruitless; n += 1) resets.made(5)
  return resets
}

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
