import type { ErrorReporter } from '../base/error-reporter.ts'
import { ConfigurationError, toSyncError } from '../base/errors.ts'
import type { Mutator } from './draft.ts'
import { tryAgain } from './inverse.ts'
import type { Outbox } from './outbox.ts'
import type { Rollback } from './rollback.ts'
import type { LocalTransaction, Transaction } from './transaction.ts'
import type { TransactionMaker } from './transaction-maker.ts'
import type { Merge } from './writer.ts'

/** A merge that is rejected, too, is merged again so many times; then it waits for somebody to decide. */
const maxMerges = 5

export interface RejectedTransactionsOptions {
  readonly outbox: Outbox
  readonly maker: TransactionMaker
  readonly rollback: Rollback
  readonly merge: Merge | undefined
  readonly reporter: Pick<ErrorReporter, 'error'>
  readonly listener: RejectedTransactionsListener
}

export interface RejectedTransactionsListener {
  rejected(transaction: Transaction): void
  /** `transaction` stands in the place of `rejected`. */
  retried(rejected: LocalTransaction, transaction: LocalTransaction): void
}

/** What becomes of rejected transactions. */
export class RejectedTransactions {
  readonly #options: RejectedTransactionsOptions
  /** How many merges led to a transaction. */
  readonly #merges = new WeakMap<Transaction, number>()
  /** In whose place a merge was written: nobody was told of them. */
  readonly #untold = new WeakSet<Transaction>()

  constructor(options: RejectedTransactionsOptions) {
    this.#options = options
  }

  /** The application may have something better to write than what was rejected; otherwise it is told, and waits. */
  settle(transaction: LocalTransaction): void {
    const { maker, merge, reporter, listener } = this.#options
    const merges = this.#merges.get(transaction) ?? 0
    try {
      const isOpen = merges < maxMerges && transaction.state === 'rejected'
      const again = maker.isGroundless(transaction)
        ? () => {}
        : isOvertaken(transaction) && maker.undoing(transaction)
      const edit = isOpen && (again || merge?.(transaction))
      if (edit) {
        this.#merges.set(this.#retry(transaction.id, edit, edit === again), merges + 1)
        this.#untold.add(transaction)
      }
    } catch (thrown) {
      reporter.error(toSyncError(thrown))
    }
    if (transaction.state === 'rejected') listener.rejected(transaction)
  }

  /** `transaction` stands again: what was to take its place could not be stored. */
  stands(transaction: LocalTransaction): void {
    if (this.#untold.delete(transaction) && transaction.state === 'rejected')
      this.#options.listener.rejected(transaction)
  }

  /** Writes a rejected transaction anew, as `edit` does or as it was; it leaves the outbox in the same step. */
  retry(id: string, edit?: (mutator: Mutator) => unknown): Transaction {
    const { record } = this.#rejected(id)
    return edit ? this.#retry(id, edit, false) : this.#retry(id, (m) => tryAgain(record, m), true)
  }

  #retry(id: string, body: (mutator: Mutator) => unknown, isAgain: boolean): Transaction {
    const { maker, listener } = this.#options
    const old = this.#rejected(id)
    const transaction = maker.replace(old, body, isAgain)
    listener.retried(old, transaction)
    return transaction
  }

  /** Gives up a rejected transaction. Resolves once it is gone from the disk; where that refuses, it stands as before. */
  async discard(id: string): Promise<void> {
    const { maker, rollback } = this.#options
    maker.refuseClosed()
    await rollback.discard(this.#rejected(id))
  }

  #rejected(id: string): LocalTransaction {
    const transaction = this.#options.outbox.get(id)
    if (transaction?.state === 'rejected') return transaction
    throw new ConfigurationError('id', `The outbox holds no rejected transaction ${id}.`)
  }
}

/** Whether it is an undo or a redo, and somebody else had changed what it was to change. */
function isOvertaken({ record, rejection }: LocalTransaction): boolean {
  const reason = record.isUndo && rejection?.reason
  return reason === 'conflict' || reason === 'not_found' || reason === 'exists'
}
