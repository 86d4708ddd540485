import { expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { Reader } from '../../src/server/log/sql/reader.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

test('a read that fails lets go of what it holds', async () => {
  const clock = new VirtualClock()
  const limits = { readerIdleMs: 30_000, spoolAfterMs: 5_000, maxReadMs: 60_000 }
  const reader = new Reader({ clock, logger: silentLogger, ...limits })
  let closed = 0
  const cursor = {
    next: () => Promise.reject(new Error('The connection is lost.')),
    close: async () => {
      closed += 1
    },
  }
  const read = async () => {
    for await (const _ of reader.read(cursor)) throw new Error('There is nothing to read.')
  }
  await expect(read()).rejects.toThrow('The connection is lost.')
  expect([closed, clock.timers]).toEqual([1, 0])
})
