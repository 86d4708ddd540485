import { describe, expect, test, vi } from 'vitest'
import { Timer } from '../../src/base/timer.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

function setUp() {
  const clock = new VirtualClock()
  const ring = vi.fn()
  const alarm = new Timer(clock, ring)
  const began = clock.now()
  return { clock, ring, alarm, began }
}

describe('an alarm', () => {
  test('rings once, at its time, and is not set then', async () => {
    const { clock, ring, alarm, began } = setUp()
    alarm.set(10)
    expect(alarm.at).toBe(began + 10)
    await clock.advance(9)
    expect(ring).not.toHaveBeenCalled()
    await clock.advance(100)
    expect(ring).toHaveBeenCalledOnce()
    expect(alarm.at).toBe(Number.POSITIVE_INFINITY)
  })

  test('that is set again rings at the new time only, be it earlier or later', async () => {
    const { clock, ring, alarm, began } = setUp()
    for (const ms of [10, 30, 20]) alarm.set(ms)
    expect([alarm.at, clock.timers]).toEqual([began + 20, 1])
    await clock.advance(19)
    expect(ring).not.toHaveBeenCalled()
    await clock.advance(100)
    expect(ring).toHaveBeenCalledOnce()
  })

  test('that is to ring within a time rings then, or when it was to ring before', async () => {
    const { clock, ring, alarm, began } = setUp()
    const times = [20, 30, 10].map((ms) => {
      alarm.within(ms)
      return alarm.at - began
    })
    expect(times).toEqual([20, 20, 10])
    await clock.advance(10)
    expect(ring).toHaveBeenCalledOnce()
    alarm.within(40)
    await clock.advance(40)
    expect(ring).toHaveBeenCalledTimes(2)
  })

  test('that is cleared does not ring, and can be set to ring within a time', async () => {
    const { clock, ring, alarm } = setUp()
    alarm.set(10)
    alarm.clear()
    expect([alarm.at, clock.timers]).toEqual([Number.POSITIVE_INFINITY, 0])
    alarm.within(50)
    await clock.advance(49)
    expect(ring).not.toHaveBeenCalled()
    await clock.advance(1)
    expect(ring).toHaveBeenCalledOnce()
  })

  test('may be set while it rings', async () => {
    const { clock, ring, alarm } = setUp()
    ring.mockImplementationOnce(() => alarm.within(5))
    alarm.set(10)
    await clock.advance(15)
    expect(ring).toHaveBeenCalledTimes(2)
    expect(clock.timers).toBe(0)
  })
})
