import { withDeadline } from '../../base/deadline.ts'
import type { Clock } from '../../base/environment.ts'
import { toError } from '../../base/errors.ts'
import type { ReadRecord } from './log.ts'

/** How long rules may hold the log's lock at a time, in ms: others cannot write meanwhile. */
export const maxRulesMs = 1_000

/** A rule of the application failed, so nothing is decided about the transaction. */
export class RuleFailure extends Error {
  constructor(cause: unknown) {
    super(toError(cause).message, { cause })
  }
}

/** The rules took too long. Other transactions of the group may have used up the time. */
export class RulesLate extends RuleFailure {
  constructor(ms: number) {
    super(
      new Error(
        `\`authorize\` and \`prepare\` held up other writes for ${ms} ms and were stopped. Do slow work before the first \`read\`.`,
      ),
    )
  }
}

export function readAfterEnd(): Error {
  return new Error(
    '`read` was called after `authorize` or `prepare` had ended; await each `read` in the function.',
  )
}

/** Runs rules while the log's lock is held: all runs together for at most `maxMs`. */
export class RuleRunner {
  readonly #clock: Clock
  readonly #maxMs: number
  #usedMs = 0

  constructor(clock: Clock, maxMs = maxRulesMs) {
    this.#clock = clock
    this.#maxMs = maxMs
  }

  /**
   * Runs `rules` with a `read` that works until they end. Throws RulesLate if the time is over. If a read fails, throws
   * that error, whatever the rules made of it: the database may have ended the transaction.
   */
  async run<T>(read: ReadRecord, rules: (read: ReadRecord) => Promise<T>): Promise<T> {
    const reads = new Reads(read)
    const startedAt = this.#clock.now()
    const leftMs = Math.max(0, this.#maxMs - this.#usedMs)
    const late = () => new RulesLate(this.#maxMs)
    try {
      return await withDeadline(this.#clock, leftMs, rules(reads.read), late)
    } finally {
      this.#usedMs += this.#clock.now() - startedAt
      await reads.end()
    }
  }
}

/** The reads of one run. */
class Reads {
  readonly read: ReadRecord
  readonly #running = new Set<Promise<unknown>>()
  #ended = false
  #failed: { readonly error: unknown } | undefined

  constructor(read: ReadRecord) {
    this.read = (t, id) => {
      if (this.#ended) return Promise.reject(readAfterEnd())
      const reading = read(t, id)
      this.#running.add(reading)
      reading
        .catch((error) => {
          this.#failed ??= { error }
        })
        .finally(() => this.#running.delete(reading))
      return reading
    }
  }

  /** Waits for reads that the rules did not await: their statements belong to the transaction. */
  async end(): Promise<void> {
    this.#ended = true
    await Promise.allSettled(this.#running)
    if (this.#failed) throw this.#failed.error
  }
}
