import { describe, expect, test } from 'vitest'
import { LoopGuard } from '../../src/engine/loop-guard.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

describe('a loop guard', () => {
  test('allows five requests at one position within half a second', async () => {
    const clock = new VirtualClock()
    const guard = new LoopGuard(clock)
    const times = (count: number) => Array.from({ length: count }, () => guard.allows(7))
    expect(times(7)).toEqual([true, true, true, true, true, false, false])
    await clock.advance(499)
    expect(guard.allows(7)).toBe(false)
    await clock.advance(1)
    expect(times(6)).toEqual([true, true, true, true, true, false])
  })

  test('begins anew at another position', () => {
    const guard = new LoopGuard(new VirtualClock())
    for (let time = 0; time < 6; time += 1) guard.allows(undefined)
    expect(guard.allows(1)).toBe(true)
  })
})
