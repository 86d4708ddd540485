import { expect, test } from 'vitest'
import { whileAlive, withDeadline } from '../../src/base/deadline.ts'
import { outcomeOf } from '../support/transport-calls.ts'
import { settle, VirtualClock } from '../support/virtual-clock.ts'

const late = () => new Error('late')

test('a promise that settles in time is given on, and no timer is left', async () => {
  const clock = new VirtualClock()
  expect(await withDeadline(clock, 10, Promise.resolve(5), late)).toBe(5)
  await expect(withDeadline(clock, 10, Promise.reject(new Error('own')), late)).rejects.toThrow('own')
  expect(clock.timers).toBe(0)
})

test('one that does not rejects when the time is up, and what comes of it later is nothing', async () => {
  const clock = new VirtualClock()
  let fail: (error: Error) => void = () => {}
  const slow = new Promise((_, reject) => {
    fail = reject
  })
  const result = outcomeOf(withDeadline(clock, 10, slow, late))
  await clock.advance(9)
  expect(result.settled).toBe(false)
  await clock.advance(1)
  expect(result.error).toEqual(late())
  fail(new Error('too late'))
  await settle()
})

test('a sign of life after the end sets no timer', async () => {
  const clock = new VirtualClock()
  let show = () => {}
  const start = async (alive: () => void) => {
    show = alive
  }
  await whileAlive(clock, 10, start, late)
  show()
  expect(clock.timers).toBe(0)
})
