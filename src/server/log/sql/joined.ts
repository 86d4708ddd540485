import type { Clock } from '../../../base/environment.ts'
import { NetworkError } from '../../../base/errors.ts'

/** How much one group holds, by the jobs' own measure. */
const maxAtOnce = 1_000

interface Waiting<Job, Result> {
  readonly job: Job
  readonly size: number
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
  /** It waits no longer. */
  start: () => void
}

export interface JoinedOptions<Job, Result> {
  /** Does all of `jobs` or nothing, and gives the results in their order. */
  readonly run: (jobs: readonly Job[]) => Promise<readonly Result[]>
  /** How much a job is; at least 0. */
  readonly sizeOf: (job: Job) => number
  /** Whether an error may be that of a single job, so that each of the group is to be tried alone. */
  readonly isOfOne: (error: unknown) => boolean
  readonly clock: Clock
  /** How long a job may wait for those before it, in ms. */
  readonly maxWaitMs: number
}

/**
 * Does one group of jobs after the other: what comes while one is done is the next, in the order in which it came. So
 * what each costs, which for a commit is a write to the disk, is shared by all that wait for it.
 */
export class Joined<Job, Result> {
  readonly #options: JoinedOptions<Job, Result>
  readonly #waiting: Waiting<Job, Result>[] = []
  #working = false

  constructor(options: JoinedOptions<Job, Result>) {
    this.#options = options
  }

  /** The result of `job`; rejects where it fails alone, or with its group, or has waited for too long, and is not done then. */
  do(job: Job): Promise<Result> {
    return new Promise((resolve, reject) => {
      const waiting = { job, size: this.#options.sizeOf(job), resolve, reject, start: () => {} }
      this.#waiting.push(waiting)
      if (this.#working) this.#limit(waiting)
      void this.#work()
    })
  }

  #limit(waiting: Waiting<Job, Result>): void {
    const { clock, maxWaitMs } = this.#options
    waiting.start = clock.after(maxWaitMs, () => {
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
      waiting.reject(new NetworkError('timeout', `The write has waited ${maxWaitMs} ms for others.`))
    })
  }

  async #work(): Promise<void> {
    if (this.#working) return
    this.#working = true
    while (this.#waiting.length > 0) await this.#run(this.#next())
    this.#working = false
  }

  /** At least one. */
  #next(): Waiting<Job, Result>[] {
    let before = 0
    const end = this.#waiting.findIndex(({ size }) => {
      const isFull = before >= maxAtOnce
      before += size
      return isFull
    })
    const group = this.#waiting.splice(0, end < 0 ? this.#waiting.length : end)
    for (const { start } of group) start()
    return group
  }

  /** Gives what the group has failed for, where that is of no single job. */
  async #run(group: readonly Waiting<Job, Result>[]): Promise<unknown> {
    try {
      const results = await this.#options.run(group.map(({ job }) => job))
      for (const [index, result] of results.entries()) group[index]?.resolve(result)
    } catch (error) {
      const isOfOne = this.#options.isOfOne(error)
      if (group.length > 1 && isOfOne) return this.#runEach(group)
      for (const { reject } of group) reject(error)
      return isOfOne ? undefined : error
    }
  }

  async #runEach(group: readonly Waiting<Job, Result>[]): Promise<unknown> {
    let failed: unknown
    for (const one of group) {
      if (failed === undefined) failed = await this.#run([one])
      else one.reject(failed)
    }
    return failed
  }
}
