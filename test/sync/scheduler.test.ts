import { expect, test } from 'vitest'
import { HttpError } from '../../src/base/errors.ts'
import { Scheduler } from '../../src/sync/scheduler.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

test.each([
  [undefined, 250],
  [7_000, 7_250],
])(
  'after a failure with a Retry-After of %s ms it waits that long, with the jitter on top',
  async (retryAfterMs, wait) => {
    const clock = new VirtualClock()
    const scheduler = new Scheduler({
      world: { clock, random: { number: () => 0.5, bytes: (length) => new Uint8Array(length) } },
      run: async () => {
        throw new HttpError('Busy.', { status: 503, retryAfterMs })
      },
      proves: () => true,
      onFailure: () => {},
      onChange: () => {},
    })
    const began = clock.now()
    scheduler.tell({ type: 'start' })
    await clock.advance(0)
    expect(scheduler.retryAt).toBe(began + wait)
    await scheduler.stop()
  },
)
