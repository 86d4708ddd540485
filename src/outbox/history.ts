import type { Transaction } from './transaction.ts'

/** So many steps can be undone. */
const mostSteps = 100

/** What the user did at once. Transactions of one group are undone and done again together. */
interface Step {
  readonly group: string | undefined
  readonly transactions: Transaction[]
}

interface Undone {
  readonly transaction: Transaction
  /** What took it back; `undefined` where it was never sent, or there was nothing to take back. */
  readonly inverse: Transaction | undefined
}

/** What the user of one client did, for undoing it and doing it again. It lives as long as the client. */
export class History {
  readonly #again: (transaction: Transaction) => Transaction
  readonly #changed: () => void
  readonly #done: Step[] = []
  #undone: { readonly group: string | undefined; readonly undone: Undone[] }[] = []
  #underWay: Promise<void> | undefined

  /**
   * `again` makes a new transaction that does what a cancelled one was to do; `changed` is told when what can be undone
   * or done again may be another.
   */
  constructor(again: (transaction: Transaction) => Transaction, changed: () => void) {
    this.#again = again
    this.#changed = changed
  }

  get canUndo(): boolean {
    return this.#done.some(({ transactions }) => transactions.some(isInForce))
  }

  get canRedo(): boolean {
    return this.#undone.length > 0
  }

  /** Notes a transaction of the user's. After it, nothing can be done again. */
  note(transaction: Transaction, group: string | undefined): void {
    void this.#inTurn(() => {
      this.#undone = []
      const last = this.#done.at(-1)
      if (last && group !== undefined && last.group === group) last.transactions.push(transaction)
      else this.#keep({ group, transactions: [transaction] })
    })
  }

  /** `transaction` stands in the place of a rejected one from now on. */
  replace(rejected: Transaction, transaction: Transaction): void {
    void this.#inTurn(() => {
      for (const { transactions } of this.#done) exchange(transactions, rejected, transaction)
      for (const { undone } of this.#undone) {
        for (const [index, { transaction: one, inverse }] of undone.entries()) {
          if (inverse === rejected) undone[index] = { transaction: one, inverse: transaction }
        }
      }
    })
  }

  /** Undoes the last step. Resolves with whether there was one. */
  undo(): Promise<boolean> {
    return this.#inTurn(async () => {
      const step = this.#lastInForce()
      if (!step) return false
      const undone: Undone[] = []
      this.#undone.push({ group: step.group, undone })
      for (const transaction of [...step.transactions].reverse()) {
        undone.push({ transaction, inverse: await transaction.undo() })
      }
      return true
    })
  }

  /** Does the step again that was undone last. Resolves with whether there was one. */
  redo(): Promise<boolean> {
    return this.#inTurn(async () => {
      const step = this.#undone.pop()
      if (!step) return false
      const transactions: Transaction[] = []
      this.#keep({ group: step.group, transactions })
      for (const { transaction, inverse } of [...step.undone].reverse()) {
        if (transaction.state === 'cancelled') transactions.push(this.#again(transaction))
        // Where what took it back was never sent, the transaction itself holds again.
        else transactions.push((await inverse?.undo()) ?? transaction)
      }
      return true
    })
  }

  /** At once, or after what is under way: each builds on what the one before has left. */
  async #inTurn<T>(work: () => T | Promise<T>): Promise<T> {
    const turn = this.#underWay ? this.#underWay.then(work) : work()
    if (!(turn instanceof Promise)) {
      this.#changed()
      return turn
    }
    const over: Promise<void> = turn
      .catch(() => {})
      .then(() => {
        if (this.#underWay === over) this.#underWay = undefined
        this.#changed()
      })
    this.#underWay = over
    return turn
  }

  /** What of the last step still holds. Steps of which nothing does, as after a rejection, are passed over. */
  #lastInForce(): Step | undefined {
    for (let step = this.#done.pop(); step; step = this.#done.pop()) {
      const transactions = step.transactions.filter(isInForce)
      if (transactions.length > 0) return { group: step.group, transactions }
    }
    return undefined
  }

  #keep(step: Step): void {
    this.#done.push(step)
    if (this.#done.length > mostSteps) this.#done.shift()
  }
}

function exchange(list: Transaction[], old: Transaction, by: Transaction): void {
  const index = list.indexOf(old)
  if (index >= 0) list[index] = by
}

function isInForce({ state }: Transaction): boolean {
  return state !== 'failed' && state !== 'cancelled' && state !== 'rejected' && state !== 'discarded'
}
