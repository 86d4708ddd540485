import { describe, expect, test, vi } from 'vitest'
import { Deferred } from '../../src/base/deferred.ts'
import { GroupQueue } from '../../src/server/log/group-queue.ts'
import { settle, VirtualClock } from '../support/virtual.ts'

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
  const queue = new GroupQueue<number, number>({
    run: async (jobs) => {
      groups.push(jobs)
      await gate
      if (jobs.some((job) => job === bad)) throw new Error('It is bad.')
      return jobs.map((job) => job * 2)
    },
    sizeOf: () => 100,
    callerOf: () => undefined,
    isOfOne: () => isOfOne,
    clock,
    maxWaitMs: 10_000,
  })
  return { queue, groups, clock, go: () => go() }
}

const settled = async (queue: GroupQueue<number, number>, jobs: readonly number[]) => {
  const results = await Promise.allSettled(jobs.map((job) => queue.do(job)))
  return results.map((result) => (result.status === 'fulfilled' ? result.value : String(result.reason)))
}

test('a job that has waited too long is refused as a temporary failure, and not run', async () => {
  const { queue, groups, clock, go } = doubling({ held: true })
  const first = queue.do(1)
  await settle()
  const late = expect(queue.do(2)).rejects.toMatchObject({ code: 'timeout', retryable: true })
  await clock.advance(9_000)
  const last = queue.do(3)
  await clock.advance(1_000)
  await late
  go()
  expect(await Promise.all([first, last])).toEqual([2, 6])
  await clock.advance(60_000)
  expect(groups).toEqual([[1], [3]])
})

test('a job that ran in time does not shorten the wait of others', async () => {
  const gates: (() => void)[] = []
  const clock = new VirtualClock()
  const queue = new GroupQueue<number, number>({
    run: async (jobs) => {
      await new Promise<void>((resolve) => gates.push(resolve))
      return jobs
    },
    sizeOf: () => 1,
    callerOf: () => undefined,
    isOfOne: () => true,
    clock,
    maxWaitMs: 10_000,
  })
  const done: number[] = []
  const all = [queue.do(1).then((job) => done.push(job))]
  await settle()
  all.push(queue.do(2).then((job) => done.push(job)))
  await clock.advance(5_000)
  gates.shift()?.()
  await clock.advance(1_000)
  all.push(queue.do(3).then((job) => done.push(job)))
  await clock.advance(5_000)
  for (let turn = 0; turn < 2; turn += 1) {
    gates.shift()?.()
    await clock.advance(0)
  }
  expect(done).toEqual([1, 2, 3])
  await Promise.all(all)
})

test('if each job of a group is run alone, each fails for itself', async () => {
  let runs = 0
  const queue = new GroupQueue<number, number>({
    run: async (jobs) => {
      runs += 1
      throw new Error(jobs.length > 1 ? 'One is bad.' : 'All is lost.')
    },
    sizeOf: () => 1,
    callerOf: () => undefined,
    isOfOne: (error) => String(error).includes('One'),
    clock: new VirtualClock(),
    maxWaitMs: 10_000,
  })
  const lost = 'Error: All is lost.'
  expect(await settled(queue, [1, 2, 3])).toEqual([lost, lost, lost])
  expect(runs).toBe(4)
})

describe('with several callers', () => {
  const turn = () => new VirtualClock().pause()

  /** Jobs are `caller:size`. Returns the groups that ran. */
  function fair(bad?: string) {
    const groups: (readonly string[])[] = []
    const queue = new GroupQueue<string, string>({
      run: async (jobs) => {
        groups.push(jobs)
        if (bad !== undefined && jobs.includes(bad)) throw new Error('One is bad.')
        return jobs
      },
      sizeOf: (job) => Number(job.split(':')[1]),
      callerOf: (job) => job.split(':')[0],
      isOfOne: () => true,
      clock: new VirtualClock(),
      maxWaitMs: 10_000,
    })
    const send = (...jobs: readonly string[]) => Promise.allSettled(jobs.map((job) => queue.do(job)))
    return { groups, send }
  }

  test('a caller with many large writes delays the others by one group', async () => {
    const { groups, send } = fair()
    const heavy = send(...Array.from({ length: 20 }, () => 'heavy:1001'))
    await turn()
    await turn()
    const before = groups.length
    expect(before).toBeLessThan(10)
    await send('ann:2', 'bob:2')
    expect(groups.length - before).toBeLessThanOrEqual(2)
    await heavy
    expect(groups.flat().filter((job) => job === 'heavy:1001')).toHaveLength(20)
  })

  test('a caller with many small writes gets as much as one with large writes', async () => {
    const { groups, send } = fair()
    await send(
      ...Array.from({ length: 10 }, () => 'heavy:1000'),
      ...Array.from({ length: 40 }, () => 'ann:100'),
    )
    expect(
      groups
        .slice(0, 2)
        .flat()
        .filter((job) => job === 'ann:100').length,
    ).toBeGreaterThanOrEqual(10)
    expect(
      groups
        .slice(0, 8)
        .flat()
        .filter((job) => job === 'ann:100'),
    ).toHaveLength(40)
  })

  test('a caller whose writes have to run alone delays the others by one of them', async () => {
    const { groups, send } = fair('heavy:1')
    const heavy = send(...Array.from({ length: 20 }, () => 'heavy:1'))
    await turn()
    await turn()
    await turn()
    const before = groups.length
    expect(before).toBeLessThan(10)
    await send('ann:2')
    expect(groups.length - before).toBeLessThanOrEqual(2)
    await heavy
    expect(groups).toHaveLength(22)
  })

  test('a caller whose writes do not fit into a group delays the others by two of them', async () => {
    const groups: (readonly string[])[] = []
    const queue = new GroupQueue<string, string>({
      run: async (jobs) => {
        groups.push(jobs)
        const fitting = jobs.findIndex((job, n) => n > 0 && job === 'heavy')
        return fitting < 0 ? jobs : jobs.slice(0, fitting)
      },
      sizeOf: () => 15,
      callerOf: (job) => job,
      isOfOne: () => true,
      clock: new VirtualClock(),
      maxWaitMs: 10_000,
    })
    const heavy = Promise.all(Array.from({ length: 20 }, () => queue.do('heavy')))
    await turn()
    await turn()
    const before = groups.length
    expect(before).toBeLessThan(10)
    await queue.do('ann')
    expect(groups.length - before).toBeLessThanOrEqual(3)
    await heavy
  })
})

test('other tasks run several times between two groups', async () => {
  const clock = new VirtualClock()
  const pause = vi.spyOn(clock, 'pause')
  const pausesBefore: number[] = []
  const queue = new GroupQueue<number, number>({
    run: async (jobs) => {
      pausesBefore.push(pause.mock.calls.length)
      return jobs
    },
    sizeOf: () => 1_000,
    callerOf: () => undefined,
    isOfOne: () => true,
    pauses: 16,
    clock,
    maxWaitMs: 10_000,
  })
  await Promise.all([queue.do(1), queue.do(2)])
  expect(pausesBefore).toEqual([16, 32])
})

test.each(['their waits end', 'they are done', 'they fail'] as const)(
  'other tasks run between jobs that end in the same moment, because %s',
  async (why) => {
    const clock = new VirtualClock()
    const pause = vi.spyOn(clock, 'pause')
    const gate = new Deferred<void>()
    const queue = new GroupQueue<number, number>({
      run: async (jobs) => {
        await gate.promise
        if (why === 'they fail' && jobs.length > 1) throw new Error('It fails.')
        return jobs
      },
      sizeOf: () => 1,
      callerOf: () => undefined,
      isOfOne: () => false,
      clock,
      maxWaitMs: 10_000,
    })
    const first = queue.do(0)
    await settle()
    let ended = 0
    let most = 0
    let before = 0
    pause.mockImplementation(async () => {
      most = Math.max(most, ended - before)
      before = ended
      await undefined
    })
    for (let job = 1; job <= 1_000; job += 1) {
      const end = () => {
        ended += 1
      }
      queue.do(job).then(end, end)
    }
    if (why === 'their waits end') await clock.advance(10_000)
    gate.resolve()
    await first
    await settle()
    expect(ended).toBe(1_000)
    expect(Math.max(most, ended - before)).toBeLessThanOrEqual(40)
  },
)
