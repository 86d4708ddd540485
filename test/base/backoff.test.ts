import { expect, test } from 'vitest'
import { backoffMs } from '../../src/base/backoff.ts'

const options = { baseMs: 500, capMs: 30_000 }

test('the ceiling doubles with each failure up to the cap, and the wait is a random share of it', () => {
  const half = [1, 2, 3, 7, 8, 5_000].map((failures) => backoffMs(failures, 0.5, options))
  expect(half).toEqual([250, 500, 1_000, 15_000, 15_000, 15_000])
  expect([0, 0.25, 0.999].map((random) => backoffMs(8, random, options))).toEqual([0, 7_500, 29_970])
})

test('the defaults are half a second and half a minute', () => {
  expect([backoffMs(1, 0.5), backoffMs(99, 0.5)]).toEqual([250, 15_000])
})
