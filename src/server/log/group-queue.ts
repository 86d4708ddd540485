import type { Clock } from '../../base/environment.ts'
import { NetworkError } from '../../base/errors.ts'
import { Timer } from '../../base/timer.ts'

/** The default of `maxAtOnce`. */
const defaultAtOnce = 1_000

/** The number of jobs that end in one turn. What follows an end, such as a response, takes time itself. */
const endsAtOnce = 20

interface Waiting<Job, Result> {
  readonly job: Job
  size: number
  /** The place among all jobs, by their arrival. */
  readonly arrival: number
  /** Jobs run in the order of their turns. */
  turn: number
  /** Whether the job needs a group of its own. */
  isAlone: boolean
  /** Whether its group has not done it. */
  isPutBack: boolean
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
  /** When its wait ends, in ms since the epoch. */
  until: number
}

export interface GroupQueueOptions<Job, Result> {
  /**
   * Runs jobs, and resolves with their results in the same order. With fewer results than jobs, the rest has not been
   * done, and is done in later groups. At least one job is done, or none and the promise rejects.
   */
  readonly run: (jobs: readonly Job[]) => Promise<readonly Result[]>
  /** The size of a job; above 0. */
  readonly sizeOf: (job: Job) => number
  /** Whose job it is. */
  readonly callerOf: (job: Job) => string | undefined
  /** Whether an error may be caused by a single job, so that each job of the group should be tried alone. */
  readonly isOfOne: (error: unknown) => boolean
  /** The size at which a group is full, in the unit of `sizeOf`. With 1, each group is one job. @default 1_000 */
  readonly maxAtOnce?: number
  /** The maximum number of groups that run at once. @default 1 */
  readonly lanes?: number
  /** The maximum number of groups with jobs of one caller that run at once. @default no limit */
  readonly lanesOfCaller?: number
  /**
   * How often other tasks may run before a group. Node accepts one connection in each turn of its loop, so jobs that
   * keep the process busy need several: otherwise new connections would wait for as many groups. @default 1
   */
  readonly pauses?: number
  readonly clock: Clock
  /** How long a job may wait for earlier ones, in ms. */
  readonly maxWaitMs: number
}

/**
 * Runs jobs in groups, one group after the other, or several at once in `lanes`. Jobs that arrive during a group form the next one. So all jobs of a
 * group share its fixed cost: for a commit, a write to the disk.
 *
 * Callers share the time by the sizes of their jobs (start-time fair queuing): a caller's job waits for the caller's
 * own earlier jobs, and for about as much of each other caller. Within a group, jobs run in the order of their arrival;
 * but first come those that an earlier group has not done, by their turns.
 */
export class GroupQueue<Job, Result> {
  readonly #options: GroupQueueOptions<Job, Result>
  /** Ordered by turn. */
  #waiting: Waiting<Job, Result>[] = []
  /** The turn of the last job that was done, or of the first job of the current group. */
  #turn = 0
  /** The earliest turn of each caller's next job, if that is later than `#turn`. */
  readonly #nextTurns = new Map<string | undefined, number>()
  #arrivals = 0
  /** The number of groups that run, in all and with jobs of each caller. */
  #running = 0
  readonly #runningOf = new Map<string | undefined, number>()
  /** Fires when the first wait ends. */
  readonly #limits: Timer

  constructor(options: GroupQueueOptions<Job, Result>) {
    this.#options = options
    this.#limits = new Timer(options.clock, () => void this.#expire())
  }

  /**
   * Resolves with the result of `job`. Rejects if the job fails, alone or with its group, or has waited for too long;
   * the job is not done then.
   */
  do(job: Job): Promise<Result> {
    return new Promise((resolve, reject) => {
      const size = this.#options.sizeOf(job)
      const arrival = this.#arrivals++
      const flags = { isAlone: false, isPutBack: false }
      const until = Number.POSITIVE_INFINITY
      const waiting = { job, size, arrival, turn: 0, ...flags, resolve, reject, until }
      this.#enqueue(waiting)
      if (this.#running > 0) this.#limit(waiting)
      void this.#work()
    })
  }

  #enqueue(waiting: Waiting<Job, Result>): void {
    const caller = this.#options.callerOf(waiting.job)
    waiting.turn = Math.max(this.#turn, this.#nextTurns.get(caller) ?? 0)
    this.#nextTurns.set(caller, waiting.turn + waiting.size)
    const before = this.#waiting.findLastIndex(({ turn }) => turn <= waiting.turn)
    this.#waiting.splice(before + 1, 0, waiting)
  }

  /** Puts a job back that its group has not done, before the others of its turn. */
  #putBack(waiting: Waiting<Job, Result>): void {
    waiting.isPutBack = true
    const after = this.#waiting.findIndex(({ turn }) => turn >= waiting.turn)
    this.#waiting.splice(after < 0 ? this.#waiting.length : after, 0, waiting)
    this.#limit(waiting)
  }

  #limit(waiting: Waiting<Job, Result>): void {
    const { clock, maxWaitMs } = this.#options
    waiting.until = clock.now() + maxWaitMs
    this.#limits.within(maxWaitMs)
  }

  /** Ends the waits whose time is over: thousands may have begun in the same moment. */
  async #expire(): Promise<void> {
    const { clock, maxWaitMs } = this.#options
    const now = clock.now()
    const late = this.#waiting.filter(({ until }) => until <= now)
    this.#waiting = this.#waiting.filter(({ until }) => until > now)
    const next = this.#waiting.reduce((first, { until }) => Math.min(first, until), Number.POSITIVE_INFINITY)
    if (next < Number.POSITIVE_INFINITY) this.#limits.within(next - now)
    const message = `The write waited ${maxWaitMs} ms for other writes, and was not made. Try again.`
    await this.#inTurns(late, ({ reject }) => reject(new NetworkError('timeout', message)))
  }

  /** Calls `end` for each of `ended`, and lets other tasks run in between. */
  async #inTurns<T>(ended: readonly T[], end: (item: T, index: number) => void): Promise<void> {
    for (const [index, item] of ended.entries()) {
      if (index > 0 && index % endsAtOnce === 0) await this.#options.clock.pause()
      end(item, index)
    }
  }

  /** Runs groups in a lane, if one is free, until nobody waits. */
  async #work(): Promise<void> {
    const { lanes = 1, pauses = 1, clock } = this.#options
    if (this.#running >= lanes) return
    this.#running += 1
    while (this.#waiting.length > 0) {
      // A database within this process keeps the process busy. So requests that came during a group arrive only now.
      for (let left = pauses; left > 0; left -= 1) await clock.pause()
      const group = this.#next()
      // All that wait are of callers who may run no more at once: the lane of one that ends goes on with them.
      if (group.length === 0) break
      await this.#runIn(group)
    }
    this.#running -= 1
  }

  /** Runs `group`, and counts it for its callers meanwhile. */
  async #runIn(group: readonly Waiting<Job, Result>[]): Promise<void> {
    const callers = new Set(group.map(({ job }) => this.#options.callerOf(job)))
    const count = (change: number) => {
      for (const caller of callers) {
        const running = (this.#runningOf.get(caller) ?? 0) + change
        if (running > 0) this.#runningOf.set(caller, running)
        else this.#runningOf.delete(caller)
      }
    }
    count(1)
    await this.#run(group)
    count(-1)
  }

  #next(): Waiting<Job, Result>[] {
    const { maxAtOnce = defaultAtOnce, lanesOfCaller = Number.POSITIVE_INFINITY, callerOf } = this.#options
    const group: Waiting<Job, Result>[] = []
    let size = 0
    for (const waiting of this.#waiting) {
      if ((this.#runningOf.get(callerOf(waiting.job)) ?? 0) >= lanesOfCaller) continue
      if (size >= maxAtOnce || (waiting.isAlone && size > 0)) break
      size += waiting.size
      group.push(waiting)
    }
    const taken = new Set(group)
    this.#waiting = this.#waiting.filter((waiting) => !taken.has(waiting))
    for (const waiting of group) waiting.until = Number.POSITIVE_INFINITY
    if (this.#waiting.length === 0) this.#limits.clear()
    // Jobs that arrive during the group come before those that it does not do.
    this.#turn = group[0]?.turn ?? this.#turn
    const putBack = group.filter(({ isPutBack }) => isPutBack)
    const fresh = group.filter(({ isPutBack }) => !isPutBack)
    return [...putBack, ...fresh.sort((one, other) => one.arrival - other.arrival)]
  }

  /** Moves `#turn` to the last job that was done, and forgets the callers' next turns that are not later. */
  #endTurns(done: readonly Waiting<Job, Result>[]): void {
    this.#turn = Math.max(this.#turn, ...done.map(({ turn }) => turn))
    for (const [caller, turn] of this.#nextTurns) if (turn <= this.#turn) this.#nextTurns.delete(caller)
  }

  async #run(group: readonly Waiting<Job, Result>[]): Promise<void> {
    if (group.length === 0) return
    try {
      const results = await this.#options.run(group.map(({ job }) => job))
      if (results.length === 0) throw new Error('No write of the group was decided.')
      this.#endTurns(group.slice(0, results.length))
      for (const waiting of group.slice(results.length).reverse()) this.#putBack(waiting)
      await this.#inTurns(results, (result, index) => group[index]?.resolve(result))
    } catch (error) {
      this.#endTurns(group)
      if (group.length > 1 && this.#options.isOfOne(error)) this.#retryEach(group)
      else await this.#inTurns(group, ({ reject }) => reject(error))
    }
  }

  /** Gives each job of `group` a group of its own, as large as any, before the later jobs of the same caller. */
  #retryEach(group: readonly Waiting<Job, Result>[]): void {
    const later = this.#waiting.splice(0)
    this.#nextTurns.clear()
    for (const waiting of group) {
      waiting.isAlone = true
      waiting.size = Math.max(waiting.size, this.#options.maxAtOnce ?? defaultAtOnce)
      this.#limit(waiting)
      this.#enqueue(waiting)
    }
    for (const waiting of later) this.#enqueue(waiting)
  }
}
