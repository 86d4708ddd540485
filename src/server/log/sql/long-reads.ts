import { Deferred } from '../../../base/deferred.ts'
import type { Clock } from '../../../base/environment.ts'
import { GroupQueue } from '../group-queue.ts'
import type { SqlCursor } from './cursor.ts'

interface Job {
  readonly caller: string | undefined
  /** Opens the read. Resolves with what keeps a connection. */
  readonly open: () => Promise<SqlCursor>
}

export interface LongReadsOptions {
  /** Called when a long read begins to wait: those that are read should give their connections back. */
  readonly onWait: () => void
  /** The number of connections for reads of this kind. */
  readonly connections: number
  readonly clock: Clock
  /** How long a long read may wait for others, in ms. */
  readonly maxWaitMs: number
}

/**
 * Opens long reads of one kind. They take at most half of the connections, and callers take turns, so that short ones
 * wait for none.
 */
export class LongReads {
  readonly #options: LongReadsOptions
  readonly #turns: GroupQueue<Job, void>
  readonly #lanes: number
  readonly #lanesOfCaller: number
  /** The reads that wait, and those that keep a connection. */
  readonly #waiting = new Set<Job>()
  readonly #running = new Set<Job>()

  constructor(options: LongReadsOptions) {
    this.#options = options
    this.#lanes = Math.max(1, Math.floor(options.connections / 2))
    this.#lanesOfCaller = Math.ceil(this.#lanes / 2)
    this.#turns = new GroupQueue({
      run: (jobs) => Promise.all(jobs.map((job) => this.#run(job))),
      sizeOf: () => 1,
      callerOf: ({ caller }) => caller,
      isOfOne: () => false,
      maxAtOnce: 1,
      lanes: this.#lanes,
      lanesOfCaller: this.#lanesOfCaller,
      clock: options.clock,
      maxWaitMs: options.maxWaitMs,
    })
  }

  /** Whether those that are read should give their connections back. */
  get isWaitedFor(): boolean {
    return this.#waiting.size > 0
  }

  /** Opens a read when it is the caller's turn. `onEnd`: called once it keeps no connection any more. */
  inTurn<Read extends { readonly cursor: SqlCursor }>(
    caller: string | undefined,
    open: () => Promise<Read>,
    onEnd: () => void = () => {},
  ): Promise<Read> {
    const opened = new Deferred<Read>()
    const job: Job = {
      caller,
      open: async () => {
        const read = await open()
        opened.resolve(read)
        return read.cursor
      },
    }
    this.#waiting.add(job)
    const own = [...this.#running].filter((other) => other.caller === caller)
    if (this.#running.size >= this.#lanes || own.length >= this.#lanesOfCaller) this.#options.onWait()
    const end = () => {
      this.#waiting.delete(job)
      onEnd()
    }
    this.#turns.do(job).catch(opened.reject).finally(end)
    return opened.promise
  }

  /** Keeps the turn as long as the read keeps its connection. */
  async #run(job: Job): Promise<void> {
    this.#waiting.delete(job)
    this.#running.add(job)
    try {
      const cursor = await job.open()
      await cursor.ended
    } finally {
      this.#running.delete(job)
    }
  }
}
