import { expect, test } from 'vitest'
import { Joined } from '../../src/server/log/sql/joined.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

/** Doubles numbers, in groups that it keeps. One group that holds `bad` fails. */
function doubling({
  bad,
  isOfOne = true,
  held = false,
}: {
  bad?: number
  isOfOne?: boolean
  held?: boolean
} = {}) {
  const groups: (readonly number[])[] = []
  const clock = new VirtualClock()
  let go = () => {}
  const gate = held ? new Promise<void>((resolve) => (go = resolve)) : undefined
  const joined = new Joined<number, number>({
    run: async (jobs) => {
      groups.push(jobs)
      await gate
      if (jobs.some((job) => job === bad)) throw new Error('It is bad.')
      return jobs.map((job) => job * 2)
    },
    sizeOf: () => 100,
    isOfOne: () => isOfOne,
    clock,
    maxWaitMs: 10_000,
  })
  return { joined, groups, clock, go: () => go() }
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

test('what has waited for others too long is told to come again, and is not done', async () => {
  const { joined, groups, clock, go } = doubling({ held: true })
  const first = joined.do(1)
  const late = expect(joined.do(2)).rejects.toMatchObject({ code: 'timeout', retryable: true })
  await clock.advance(9_000)
  const last = joined.do(3)
  await clock.advance(1_000)
  await late
  go()
  expect(await Promise.all([first, last])).toEqual([2, 6])
  await clock.advance(60_000)
  expect(groups).toEqual([[1], [3]])
})

test('whose turn has come in time costs nobody else theirs later', async () => {
  const gates: (() => void)[] = []
  const clock = new VirtualClock()
  const joined = new Joined<number, number>({
    run: async (jobs) => {
      await new Promise<void>((resolve) => gates.push(resolve))
      return jobs
    },
    sizeOf: () => 1,
    isOfOne: () => true,
    clock,
    maxWaitMs: 10_000,
  })
  const done: number[] = []
  const all = [1, 2].map(async (job) => done.push(await joined.do(job)))
  await clock.advance(5_000)
  gates.shift()?.()
  await clock.advance(1_000)
  all.push(joined.do(3).then((job) => done.push(job)))
  await clock.advance(5_000)
  for (let turn = 0; turn < 2; turn += 1) {
    gates.shift()?.()
    await clock.advance(0)
  }
  expect(done).toEqual([1, 2, 3])
  await Promise.all(all)
})

test('once one that is done alone fails for what is not of it, so do those behind it', async () => {
  let runs = 0
  const joined = new Joined<number, number>({
    run: async (jobs) => {
      runs += 1
      if (runs === 1) return jobs
      throw new Error(jobs.length > 1 ? 'One is bad.' : 'All is lost.')
    },
    sizeOf: () => 1,
    isOfOne: (error) => String(error).includes('One'),
    clock: new VirtualClock(),
    maxWaitMs: 10_000,
  })
  const lost = 'Error: All is lost.'
  expect(await settled(joined, [1, 2, 3, 4])).toEqual([1, lost, lost, lost])
  expect(runs).toBe(3)
})
