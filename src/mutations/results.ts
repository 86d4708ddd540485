import { type HistoryPosition, isOtherEpochOrBehind } from '../protocol/bootstrap.ts'
import { isOtherEpoch } from '../protocol/guards.ts'
import type { LocalTransaction } from './transaction.ts'

/** One decision of the server. `sid`: the position it was based on. `count`: its running number. */
interface Verdict {
  readonly sid: number
  readonly count: number
  readonly isOver: boolean
}

/** The results that the data may not show yet: on those that are accepted, and on those of the rejected that are not told. */
export class Results {
  readonly #unshown = new Map<LocalTransaction, Verdict>()
  #count = 0

  /** How many there were, ever. What a fetch brings that began at this number shows all that they were about. */
  get count(): number {
    return this.#count
  }

  /** Whether the data shows all of them. */
  get areShown(): boolean {
    return this.#unshown.size === 0
  }

  /**
   * `transaction` was judged by what the server has at `sid`; where that is not given, only a fetch that begins later
   * shows it. `isOver`: another client has seen its end, so that it is nobody's to send again.
   */
  add(transaction: LocalTransaction, sid = Number.POSITIVE_INFINITY, isOver = false): void {
    this.#count += 1
    this.#unshown.set(transaction, { sid, count: this.#count, isOver })
  }

  remove(transaction: LocalTransaction): void {
    this.#unshown.delete(transaction)
  }

  /** Those whose verdict the data shows, once it is confirmed up to `sid`, by a fetch that began at `count`. */
  shownAt(state: 'accepted' | 'rejected', sid: number, count: number): readonly LocalTransaction[] {
    return [...this.#unshown].flatMap(([one, verdict]) =>
      one.state === state && (verdict.sid <= sid || verdict.count <= count) ? [one] : [],
    )
  }

  /**
   * Data of `head` takes the place of data that ended at `data`, where there was any. A transaction that was accepted in
   * another history is to be sent again, unless the data has shown it before. Returns those to be sent.
   */
  requeue(head: HistoryPosition, data: HistoryPosition | undefined): readonly LocalTransaction[] {
    return [...this.#unshown].flatMap(([one, verdict]) => {
      const { acceptedEpoch, seen } = one.record
      if (one.state !== 'accepted' || verdict.isOver || isKnownIn(head, data, acceptedEpoch)) return []
      const wasShown = data && !isOtherEpoch(data, acceptedEpoch) && verdict.sid <= data.sid
      if (seen || wasShown) this.#unshown.set(one, { ...verdict, sid: Number.NEGATIVE_INFINITY })
      else if (one.dispatch({ type: 'requeue' })) {
        this.remove(one)
        return [one]
      }
      return []
    })
  }
}

/** Whether a position that counts in the history `epoch` counts in that of `head`. */
function isKnownIn(
  head: HistoryPosition,
  data: HistoryPosition | undefined,
  epoch: string | undefined,
): boolean {
  if (data && isOtherEpochOrBehind(data, head)) return false
  if (epoch !== undefined && head.epoch !== undefined) return epoch === head.epoch
  return data !== undefined
}
