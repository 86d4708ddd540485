import { Failure } from './failure.ts'
import type { SentTransaction } from './read-transactions.ts'

/**
 * The maximum number of ops of one caller that wait for the log, which limits the memory that these ops take. Other
 * callers do not wait longer because of them.
 */
const maxWaiting = 10_000

/** The ops of each caller that wait for the log. */
export class WaitingOps {
  readonly #counts = new Map<string, number>()

  /**
   * Resolves with the result of `decide`, which decides about `txs` of the user `userId`. Throws a {@link Failure} if
   * the user has sent too many ops that still wait. A user without any may always send a request.
   */
  async during<Result>(
    userId: string,
    txs: readonly SentTransaction[],
    decide: () => Promise<Result>,
  ): Promise<Result> {
    const count = txs.reduce((sum, { ops }) => sum + ops.length, 0)
    const before = this.#counts.get(userId) ?? 0
    if (before > 0 && before + count > maxWaiting) {
      const message = 'Too many of your changes are waiting. Wait for the time in `Retry-After`.'
      throw new Failure(429, 'too_many_requests', message, { 'Retry-After': '1' })
    }
    this.#add(userId, count)
    try {
      return await decide()
    } finally {
      this.#add(userId, -count)
    }
  }

  #add(userId: string, count: number): void {
    const sum = (this.#counts.get(userId) ?? 0) + count
    if (sum > 0) this.#counts.set(userId, sum)
    else this.#counts.delete(userId)
  }
}
