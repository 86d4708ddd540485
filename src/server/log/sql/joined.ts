import type { Clock } from '../../../base/environment.ts'
import { NetworkError } from '../../../base/errors.ts'

/** The maximum size of a group, in the unit of `sizeOf`. */
const maxAtOnce = 1_000

interface Waiting<Job, Result> {
  readonly job: Job
  readonly size: number
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
  /** Cancels the time limit of the wait. */
  start: () => void
}

export interface JoinedOptions<Job, Result> {
  /** Runs all of `jobs` or none, and resolves with the results in the same order. */
  readonly run: (jobs: readonly Job[]) => Promise<readonly Result[]>
  /** The size of a job; at least 0. */
  readonly sizeOf: (job: Job) => number
  /** Whether an error may be caused by a single job, so that each job of the group should be tried alone. */
  readonly isOfOne: (error: unknown) => boolean
  readonly clock: Clock
  /** How long a job may wait for earlier ones, in ms. */
  readonly maxWaitMs: number
}

/**
 * Runs jobs in groups, one group after the other. Jobs that arrive during a group form the next one, in order. So all
 * jobs of a group share its fixed cost: for a commit, a write to the disk.
 */
export class Joined<Job, Result> {
  readonly #options: JoinedOptions<Job, Result>
  readonly #waiting: Waiting<Job, Result>[] = []
  #working = false

  constructor(options: JoinedOptions<Job, Result>) {
    this.#options = options
  }

  /**
   * Resolves with the result of `job`. Rejects if the job fails, alone or with its group, or has waited for too long;
   * the job is not done then.
   */
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
      waiting.reject(new NetworkError('timeout', `The write waited for other writes for ${maxWaitMs} ms.`))
    })
  }

  async #work(): Promise<void> {
    if (this.#working) return
    this.#working = true
    while (this.#waiting.length > 0) await this.#run(this.#next())
    this.#working = false
  }

  /** The next group, of at least one job. */
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

  /** Runs a group. Resolves with the error of the group, unless a single job may have caused it. */
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
    for (const waiting of group) {
      if (failed === undefined) failed = await this.#run([waiting])
      else waiting.reject(failed)
    }
    return failed
  }
}
