/** How much one group holds, by the jobs' own measure. */
const mostAtOnce = 1_000

interface Waiting<Job, Result> {
  readonly job: Job
  readonly size: number
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

export interface JoinedOptions<Job, Result> {
  /** Does all of `jobs` or nothing, and gives the results in their order. */
  readonly run: (jobs: readonly Job[]) => Promise<readonly Result[]>
  /** How much a job is; at least 0. */
  readonly sizeOf: (job: Job) => number
  /** Whether an error may be that of a single job, so that each of the group is to be tried alone. */
  readonly isOfOne: (error: unknown) => boolean
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

  /** The result of `job`; rejects where it fails alone, or with its group. */
  do(job: Job): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ job, size: this.#options.sizeOf(job), resolve, reject })
      void this.#work()
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
      const isFull = before >= mostAtOnce
      before += size
      return isFull
    })
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end)
  }

  async #run(group: readonly Waiting<Job, Result>[]): Promise<void> {
    try {
      const results = await this.#options.run(group.map(({ job }) => job))
      for (const [index, result] of results.entries()) group[index]?.resolve(result)
    } catch (error) {
      if (group.length > 1 && this.#options.isOfOne(error)) {
        for (const one of group) await this.#run([one])
      } else {
        for (const { reject } of group) reject(error)
      }
    }
  }
}
