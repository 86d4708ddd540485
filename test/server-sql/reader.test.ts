import { expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { Reader } from '../../src/server/log/sql/reader.ts'
import { VirtualClock } from '../support/virtual.ts'

test('a read that fails releases its resources', async () => {
  const clock = new VirtualClock()
  const limits = { readerIdleMs: 30_000, spoolAfterMs: 5_000, maxReadMs: 60_000 }
  const reader = new Reader({ clock, logger: silentLogger, ...limits })
  let closed = 0
  const cursor = {
    holdsConnection: true,
    next: () => Promise.reject(new Error('The connection is lost.')),
    close: async () => {
      closed += 1
    },
  }
  const read = async () => {
    for await (const _ of reader.read(cursor, 'readers')) throw new Error('There is nothing to read.')
  }
  await expect(read()).rejects.toThrow('The connection is lost.')
  expect([closed, clock.timers]).toEqual([1, 0])
})

test('a batch that takes long does not abort a read: the database is slow, not the client', async () => {
  const clock = new VirtualClock()
  const limits = { readerIdleMs: 30_000, spoolAfterMs: 600_000, maxReadMs: 600_000 }
  const reader = new Reader({ clock, logger: silentLogger, ...limits })
  const left = ['one', 'two', '']
  const next = async () => {
    await new Promise<void>((resolve) => clock.after(40_000, resolve))
    return left.shift() ?? ''
  }
  const read = reader
    .read({ next, close: async () => {}, holdsConnection: true }, 'readers')
    [Symbol.asyncIterator]()
  const values: unknown[] = []
  for (let count = 0; count < 3; count += 1) {
    const { value } = await clock.until(read.next())
    values.push(value)
  }
  expect(values).toEqual(['one', 'two', undefined])
  expect(clock.timers).toBe(0)
})

test('a read that has become slow and then fails asks the database for nothing more', async () => {
  const clock = new VirtualClock()
  const limits = { readerIdleMs: 30_000, spoolAfterMs: 5_000, maxReadMs: 60_000 }
  const reader = new Reader({ clock, logger: silentLogger, ...limits })
  let asked = 0
  const next = async () => {
    asked += 1
    await new Promise<void>((resolve) => clock.after(10_000, resolve))
    throw new Error('The connection is lost.')
  }
  const read = reader
    .read({ next, close: async () => {}, holdsConnection: true }, 'readers')
    [Symbol.asyncIterator]()
  const failed = expect(read.next()).rejects.toThrow('The connection is lost.')
  await clock.advance(10_000)
  await failed
  expect(asked).toBe(1)
})
