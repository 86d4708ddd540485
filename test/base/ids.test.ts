import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createIds } from '../../src/base/ids.ts'
import { seededRandom } from '../support/virtual.ts'

const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

function idsAt(times: readonly number[]) {
  let turn = 0
  const clock = { now: () => times[Math.min(turn++, times.length - 1)] ?? 0 }
  return createIds(clock, seededRandom(1))
}

describe('identifiers', () => {
  test('are UUIDs of version 7 that begin with the time', () => {
    const id = idsAt([1_767_225_600_000]).next()
    expect(id).toMatch(uuid7)
    expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBe(1_767_225_600_000)
  })

  test('stand in the order in which they were made, whatever the clock does', () => {
    const times = fc.array(fc.nat(50), { minLength: 1, maxLength: 200 })
    fc.assert(
      fc.property(times, (given) => {
        const ids = idsAt(given)
        const made = given.map(() => ids.next())
        expect([...made].sort()).toEqual(made)
        expect(new Set(made).size).toBe(made.length)
        for (const id of made) expect(id).toMatch(uuid7)
      }),
    )
  })

  test('go on into the next ms where one does not hold them', () => {
    const ids = idsAt([5])
    const made = Array.from({ length: 10_000 }, () => ids.next())
    expect([...made].sort()).toEqual(made)
    expect(made.every((id) => uuid7.test(id))).toBe(true)
  })

  test('each hold random bits of their own', () => {
    const ids = createIds({ now: () => 5 }, seededRandom(1))
    const tails = Array.from({ length: 1_000 }, () => ids.next().slice(19))
    expect(new Set(tails).size).toBe(1_000)
  })
})
