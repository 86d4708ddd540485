import type { LocalTransaction } from './transaction.ts'

/** The server has judged by what it has at `sid`; `count`: the how manieth verdict it was. */
interface Verdict {
  readonly sid: number
  readonly count: number
  readonly isOver: boolean
}

/** The verdicts that the data may not show yet: on those that are accepted, and on those of the rejected that are not told. */
export class Verdicts {
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

  /** Those whose verdict the data shows, once it is proven up to `sid`, by a fetch that began at `count`. */
  shownAt(state: 'accepted' | 'rejected', sid: number, count: number): readonly LocalTransaction[] {
    return [...this.#unshown].flatMap(([one, verdict]) =>
      one.state === state && (verdict.sid <= sid || verdict.count <= count) ? [one] : [],
    )
  }

  /** The server's history is another one: what it had accepted is sent again. Gives what was. */
  requeue(): readonly LocalTransaction[] {
    const accepted = [...this.#unshown].flatMap(([one, { isOver }]) =>
      !isOver && one.dispatch({ type: 'requeue' }) ? [one] : [],
    )
    for (const transaction of accepted) this.remove(transaction)
    return accepted
  }
}
