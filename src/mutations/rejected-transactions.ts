import type { Clock } from '../base/environment.ts'
import type { ErrorReporter } from '../base/error-reporter.ts'
import { ConfigurationError, toSyncError } from '../base/errors.ts'
import { isWithin } from '../base/is-within.ts'
import { isOvertaken } from './acknowledgements.ts'
import type { Draft, Mutator } from './draft.ts'
import { tryAgain } from './inverse.ts'
import type { Outbox } from './outbox.ts'
import type { Rollback } from './rollback.ts'
import type { LocalTransaction, Transaction } from './transaction.ts'
import type { TransactionMaker } from './transaction-maker.ts'
import type { Merge } from './writer.ts'

/** The maximum number of merges in a row. If the last merge is rejected, too, it waits in the outbox for a decision. */
const maxMerges = 5

/** The maximum number of retries in a row, each made at once after the `rejected` event. */
const maxRetries = 5

/** A retry within this time after the `rejected` event, in ms, was made by a program and not by a user. */
const atOnceMs = 1_000

/** The delay of the `rejected` event of the first retry in a row, in ms. It doubles with each further retry. */
const retryMs = 500

export interface RejectedTransactionsOptions {
  readonly clock: Clock
  readonly outbox: Outbox
  readonly maker: TransactionMaker
  readonly rollback: Rollback
  readonly merge: Merge | undefined
  readonly reporter: Pick<ErrorReporter, 'error'>
  readonly listener: RejectedTransactionsListener
}

export interface RejectedTransactionsListener {
  rejected(transaction: Transaction): void
  /** `transaction` has replaced `rejected`. */
  retried(rejected: LocalTransaction, transaction: LocalTransaction): void
}

/** Merges, retries and discards rejected transactions. */
export class RejectedTransactions {
  readonly #options: RejectedTransactionsOptions
  /** The number of merges in a row by which a transaction was made. */
  readonly #merges = new WeakMap<Transaction, number>()
  /** Rejected transactions that `merge` replaced before the `rejected` event fired. */
  readonly #unreported = new WeakSet<Transaction>()

  /** The number of retries in a row by which a transaction was made. */
  readonly #retries = new WeakMap<Transaction, number>()
  /** When the `rejected` event of a transaction was emitted, in ms since the epoch. */
  readonly #reportedAt = new WeakMap<Transaction, number>()
  /** The events that are delayed: each function emits one now. */
  readonly #delayed = new Set<() => void>()

  constructor(options: RejectedTransactionsOptions) {
    this.#options = options
  }

  /**
   * Replaces a rejected transaction by the result of `merge`, or reports it. An undo or a redo that conflicts with
   * another user's change is made again without the changed records. If the transaction that it takes back was
   * rejected, its replacement writes nothing.
   */
  settle(transaction: LocalTransaction): void {
    const { reporter } = this.#options
    const merges = this.#merges.get(transaction) ?? 0
    try {
      const isOpen = merges < maxMerges && transaction.state === 'rejected'
      const undone = isOpen ? this.#undone(transaction) : undefined
      const written = isOpen ? (undone ?? this.#merged(transaction)) : undefined
      if (written) {
        this.#merges.set(this.#replace(transaction, written, undone && transaction.record.isUndo), merges + 1)
        this.#unreported.add(transaction)
      }
    } catch (thrown) {
      reporter.error(toSyncError(thrown))
    }
    if (transaction.state === 'rejected') this.#report(transaction)
  }

  /** Emits the delayed events now. */
  stop(): void {
    for (const emit of this.#delayed) emit()
  }

  /** Emits `rejected`: later and later if a listener retries at once each time. */
  #report(transaction: LocalTransaction): void {
    const { clock, listener } = this.#options
    const emit = () => {
      cancel()
      this.#delayed.delete(emit)
      this.#reportedAt.set(transaction, clock.now())
      listener.rejected(transaction)
    }
    const retries = this.#retries.get(transaction) ?? 0
    let cancel = () => {}
    if (retries === 0) emit()
    else {
      this.#delayed.add(emit)
      cancel = clock.after(retryMs * 2 ** (retries - 1), emit)
    }
  }

  /** The replacement of `transaction` could not be stored. Reports `transaction` if it was not reported before. */
  restored(transaction: LocalTransaction): void {
    if (this.#unreported.delete(transaction) && transaction.state === 'rejected') this.#report(transaction)
  }

  /**
   * Writes a rejected transaction again, with the ops of `edit` or with its own ones. The rejected transaction leaves
   * the outbox in the same step.
   */
  retry(id: string, edit?: (mutator: Mutator) => unknown): Transaction {
    const old = this.#rejected(id)
    const isAtOnce = isWithin(this.#options.clock, this.#reportedAt.get(old) ?? 0, atOnceMs)
    const retries = isAtOnce ? (this.#retries.get(old) ?? 0) : 0
    if (retries >= maxRetries) {
      const message = `The transaction ${id} was retried ${maxRetries} times at once: let the user decide.`
      throw new ConfigurationError('retry', message)
    }
    const transaction = this.#retried(old, edit)
    this.#retries.set(transaction, isAtOnce ? retries + 1 : 0)
    return transaction
  }

  #retried(old: LocalTransaction, edit?: (mutator: Mutator) => unknown): Transaction {
    const { maker } = this.#options
    const { record } = old
    if (!edit && record.isUndo) return this.#replace(old, maker.undoAgain(old), true)
    return this.#replace(old, maker.draft(edit ?? ((m) => tryAgain(record, m))))
  }

  /**
   * The ops to write in place of an undo or a redo that conflicts with another user's change. No ops if the transaction
   * that it takes back was rejected. `undefined` for any other transaction.
   */
  #undone(transaction: LocalTransaction): Draft | undefined {
    const { maker } = this.#options
    if (maker.undoesRejected(transaction)) return { ops: [], before: [] }
    const { rejection, undoes } = transaction
    const isLost =
      (rejection && isOvertaken(transaction, rejection)) ||
      // What it undoes was rejected and then written again: it has to undo the new one.
      undoes?.rewrittenAs ||
      this.#isUnknown(transaction)
    return isLost ? maker.undoAgain(transaction) : undefined
  }

  /**
   * Whether the transaction is an undo or a redo of what the data contains, but the server, which has another history
   * now, has not accepted.
   */
  #isUnknown({ record, rejection }: LocalTransaction): boolean {
    const isRefused = record.isUndo === true && rejection?.reason === 'dependency_rejected'
    return isRefused && record.requires.every((id) => !this.#options.outbox.get(id))
  }

  #merged(transaction: LocalTransaction): Draft | undefined {
    const { maker, merge } = this.#options
    const edit = merge?.(transaction)
    return edit && maker.draft(edit)
  }

  #replace(old: LocalTransaction, written: Draft, isUndo?: boolean): Transaction {
    const { maker, listener } = this.#options
    const transaction = maker.replace(old, written, isUndo)
    listener.retried(old, transaction)
    return transaction
  }

  /**
   * Discards a rejected transaction. Resolves once the disk no longer has it. Rejects if the disk fails; the
   * transaction then stays rejected.
   */
  async discard(id: string): Promise<void> {
    const { maker, rollback } = this.#options
    maker.refuseClosed()
    await rollback.discard(this.#rejected(id))
  }

  #rejected(id: string): LocalTransaction {
    const transaction = this.#options.outbox.get(id)
    if (transaction?.state === 'rejected') return transaction
    throw new ConfigurationError('id', `The outbox has no rejected transaction ${id}.`)
  }
}
