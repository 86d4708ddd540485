import { expect, test } from 'vitest'
import type { Clock } from '../../src/base/environment.ts'
import { HttpError } from '../../src/base/errors.ts'
import { Schedule } from '../../src/network/schedule.ts'
import { JumpingClock } from '../support/jumping-clock.ts'
import { VirtualClock } from '../support/virtual.ts'

interface Setup {
  readonly clock: Clock
  readonly run: () => Promise<void>
  readonly random?: number
  readonly onFailure?: (failure: Error) => void
}

function schedulerOf({ clock, run, random = 0, onFailure = () => {} }: Setup) {
  return new Schedule({
    environment: { clock, random: { number: () => random, bytes: (length) => new Uint8Array(length) } },
    run,
    proves: () => true,
    onFailure,
    onChange: () => {},
  })
}

test.each([
  [undefined, 250],
  [7_000, 7_250],
])(
  'after a failure with a Retry-After of %s ms, the wait is that long plus a random part',
  async (retryAfterMs, wait) => {
    const clock = new VirtualClock()
    const scheduler = schedulerOf({
      clock,
      random: 0.5,
      run: async () => {
        throw new HttpError('Busy.', { status: 503, retryAfterMs })
      },
    })
    const began = clock.now()
    scheduler.dispatch('start')
    await clock.advance(0)
    expect(scheduler.retryAt).toBe(began + wait)
    await scheduler.stop()
  },
)

test('an event after the end of a Retry-After runs at once, even if a sleeping machine has delayed the timer', async () => {
  const clock = new VirtualClock()
  const its = new JumpingClock(clock)
  let runs = 0
  const scheduler = schedulerOf({
    clock: its,
    run: async () => {
      runs += 1
      if (runs === 1) throw new HttpError('Busy.', { status: 503, retryAfterMs: 600_000 })
    },
  })
  scheduler.dispatch('start')
  await clock.advance(0)
  its.jump(599_000)
  scheduler.dispatch('hurry')
  await clock.advance(0)
  expect(runs).toBe(1)
  its.jump(1_000)
  scheduler.dispatch('hurry')
  await clock.advance(0)
  expect([runs, scheduler.phase, clock.timers]).toEqual([2, 'resting', 0])
})

test('a stop forgets earlier failures', async () => {
  const clock = new VirtualClock()
  const scheduler = schedulerOf({
    clock,
    random: 0.5,
    run: async () => {
      throw new HttpError('Busy.', { status: 503 })
    },
  })
  scheduler.dispatch('start')
  await clock.advance(0)
  expect(scheduler.failure).toBeDefined()
  await scheduler.stop()
  expect([scheduler.failure, scheduler.failures, clock.timers]).toEqual([undefined, 0, 0])
})

test('a run that is stopped while it waits for the previous one never begins', async () => {
  const clock = new VirtualClock()
  let runs = 0
  const scheduler = schedulerOf({
    clock,
    run: async () => {
      runs += 1
      await new Promise<void>((resolve) => void clock.after(1_000, resolve))
    },
  })
  scheduler.dispatch('start')
  await clock.advance(0)
  const stopped = scheduler.stop()
  scheduler.dispatch('start')
  await clock.advance(0)
  const again = scheduler.stop()
  await clock.until(Promise.all([stopped, again]))
  expect(runs).toBe(1)
})

test.each(['succeeds', 'fails'])('a stopped run that %s does not affect the next one', async (end) => {
  const clock = new VirtualClock()
  const failures: string[] = []
  let runs = 0
  const scheduler = schedulerOf({
    clock,
    run: async () => {
      runs += 1
      await new Promise<void>((resolve) => void clock.after(1_000, resolve))
      if (runs === 1 && end === 'fails') throw new HttpError('Busy.', { status: 503 })
    },
    onFailure: ({ message }) => failures.push(message),
  })
  scheduler.dispatch('start')
  await clock.advance(0)
  const stopped = scheduler.stop()
  scheduler.dispatch('start')
  await clock.until(stopped)
  await clock.advance(0)
  expect([runs, scheduler.phase, scheduler.failure, failures]).toEqual([2, 'fetching', undefined, []])
  await clock.advance(1_000)
  expect([runs, scheduler.phase]).toEqual([2, 'resting'])
})
