import { expect, test } from 'vitest'
import { Joined } from '../../src/server/log/sql/joined.ts'

/** Doubles numbers, in groups that it keeps. One group that holds `bad` fails. */
function doubling({ bad, isOfOne = true }: { bad?: number; isOfOne?: boolean } = {}) {
  const groups: (readonly number[])[] = []
  const joined = new Joined<number, number>({
    run: async (jobs) => {
      groups.push(jobs)
      await Promise.resolve()
      if (jobs.some((job) => job === bad)) throw new Error('It is bad.')
      return jobs.map((job) => job * 2)
    },
    sizeOf: () => 100,
    isOfOne: () => isOfOne,
  })
  return { joined, groups }
}

const settled = async (joined: Joined<number, number>, jobs: readonly number[]) => {
  const results = await Promise.allSettled(jobs.map((job) => joined.do(job)))
  return results.map((result) => (result.status === 'fulfilled' ? result.value : String(result.reason)))
}

test('what comes while a group is done is the next one, in its order', async () => {
  const { joined, groups } = doubling()
  expect(await settled(joined, [1, 2, 3])).toEqual([2, 4, 6])
  expect(await joined.do(4)).toBe(8)
  expect(groups).toEqual([[1], [2, 3], [4]])
})

test('a group is as large as may be, and what is left over is the next', async () => {
  const { joined, groups } = doubling()
  const jobs = Array.from({ length: 24 }, (_, index) => index)
  expect(await settled(joined, jobs)).toEqual(jobs.map((job) => job * 2))
  expect(groups.map((group) => group.length)).toEqual([1, 10, 10, 3])
})

test('where one of a group is bad, each is done alone, and that one fails', async () => {
  const { joined, groups } = doubling({ bad: 3 })
  expect(await settled(joined, [1, 2, 3, 4])).toEqual([2, 4, 'Error: It is bad.', 8])
  expect(groups).toEqual([[1], [2, 3, 4], [2], [3], [4]])
})

test('where a group fails for what is not of one of them, all fail', async () => {
  const { joined, groups } = doubling({ bad: 3, isOfOne: false })
  const bad = 'Error: It is bad.'
  expect(await settled(joined, [1, 2, 3, 4])).toEqual([2, bad, bad, bad])
  expect(groups).toEqual([[1], [2, 3, 4]])
  expect(await joined.do(5)).toBe(10)
})
