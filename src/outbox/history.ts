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
  readonly #done: Step[] = []
  #undone: { readonly group: string | undefined; readonly undone: readonly Undone[] }[] = []

  /** `again` makes a new transaction that does what a cancelled one was to do. */
  constructor(again: (transaction: Transaction) => Transaction) {
    this.#again = again
  }

  /** Notes a transaction of the user's. After it, nothing can be done again. */
  note(transaction: Transaction, group: string | undefined): void {
    this.#undone = []
    const last = this.#done.at(-1)
    if (last && group !== undefined && last.group === group) last.transactions.push(transaction)
    else this.#keep({ group, transactions: [transaction] })
  }

  /** Undoes the last step. Resolves with whether there was one. */
  async undo(): Promise<boolean> {
    const step = this.#done.pop()
    if (!step) return false
    const undone: Undone[] = []
    this.#undone.push({ group: step.group, undone })
    for (const transaction of [...step.transactions].reverse()) {
      undone.push({ transaction, inverse: await transaction.undo() })
    }
    return true
  }

  /** Does the step again that was undone last. Resolves with whether there was one. */
  async redo(): Promise<boolean> {
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
  }

  #keep(step: Step): void {
    this.#done.push(step)
    if (this.#done.length > mostSteps) this.#done.shift()
  }
}
