import { type HistoryPosition, isOtherEpochOrBehind } from '../protocol/bootstrap.ts'
import { isOtherEpoch } from '../protocol/guards.ts'
import type { LocalTransaction } from './transaction.ts'

/** One decision of the server. `sid`: the position it was based on. `count`: its running number. */
interface Result {
  readonly sid: number
  readonly count: number
  readonly isOver: boolean
}

/** Results that the data may not show yet: of accepted transactions, and of rejected ones that are not reported yet. */
export class Results {
  readonly #unshown = new Map<LocalTransaction, Result>()
  #count = 0

  /** The number of results so far. A fetch that begins at this number shows the effect of all of them. */
  get count(): number {
    return this.#count
  }

  /** Whether the data shows all results. */
  get areShown(): boolean {
    return this.#unshown.size === 0
  }

  /**
   * Adds the result of `transaction`, which the server based on its state at `sid`. Without a `sid`, only a fetch that
   * begins later shows the effect. `isOver`: another client has settled the transaction, so no client sends it again.
   */
  add(transaction: LocalTransaction, sid = Number.POSITIVE_INFINITY, isOver = false): void {
    this.#count += 1
    this.#unshown.set(transaction, { sid, count: this.#count, isOver })
  }

  has(transaction: LocalTransaction): boolean {
    return this.#unshown.has(transaction)
  }

  remove(transaction: LocalTransaction): void {
    this.#unshown.delete(transaction)
  }

  /** Transactions whose result the data shows once it is confirmed up to `sid`, by a fetch that began at `count`. */
  shownAt(
    state: 'sending' | 'accepted' | 'rejected',
    sid: number,
    count: number,
  ): readonly LocalTransaction[] {
    return [...this.#unshown].flatMap(([one, result]) =>
      one.state === state && (result.sid <= sid || result.count <= count) ? [one] : [],
    )
  }

  /**
   * Handles a snapshot of `head` that replaces data at the position `data`, if there was any. Queues transactions again
   * that were accepted in another history, unless the old data contained them. Returns these transactions.
   */
  requeue(head: HistoryPosition, data: HistoryPosition | undefined): readonly LocalTransaction[] {
    return [...this.#unshown].flatMap(([one, result]) => {
      const { acceptedEpoch, seen } = one.record
      if (one.state !== 'accepted' || result.isOver || isKnownIn(head, data, acceptedEpoch)) return []
      const wasShown = data && !isOtherEpoch(data, acceptedEpoch) && result.sid <= data.sid
      if (seen || wasShown) this.#unshown.set(one, { ...result, sid: Number.NEGATIVE_INFINITY })
      else if (one.dispatch({ type: 'requeue' })) {
        this.remove(one)
        return [one]
      }
      return []
    })
  }
}

/** Whether a position in the history `epoch` is valid in the history of `head`. */
function isKnownIn(
  head: HistoryPosition,
  data: HistoryPosition | undefined,
  epoch: string | undefined,
): boolean {
  if (data && isOtherEpochOrBehind(data, head)) return false
  if (epoch !== undefined && head.epoch !== undefined) return epoch === head.epoch
  return data !== undefined
}
