import type { ErrorReporter } from '../base/error-reporter.ts'
import { RejectedError, type SyncError, toStorageError } from '../base/errors.ts'
import { endOf, isEnd, type OutboxEntry } from '../persistence/outbox.ts'
import type { OptimisticUpdates, Rejection } from './optimistic-updates.ts'
import type { Outbox } from './outbox.ts'
import type { OutboxLog } from './outbox-log.ts'
import type { LocalTransaction } from './transaction.ts'

export interface RollbackOptions {
  readonly outbox: Outbox
  readonly log: OutboxLog
  readonly optimisticUpdates: OptimisticUpdates
  readonly reporter: Pick<ErrorReporter, 'error'>
  readonly listener: RollbackListener
}

export interface RollbackListener {
  /** Another client has rejected `transaction`, and decides what follows. */
  rejected(transaction: LocalTransaction): void
  /** There is a transaction to send. */
  queued(): void
  /** `transaction` is back: its replacement `lost` could not be stored. */
  restored(transaction: LocalTransaction, lost: LocalTransaction): void
  /** `transaction` was rejected, and the data shows the state that the server based the decision on. */
  rejectionShown(transaction: LocalTransaction): void
}

/**
 * Removes failed, cancelled and rejected transactions from the outbox and from the shown records, and restores
 * transactions whose replacement or removal failed.
 */
export class Rollback {
  readonly #options: RollbackOptions

  constructor(options: RollbackOptions) {
    this.#options = options
  }

  /**
   * Rejects `transaction` and all that require it. `sid`: the position that the server based its decision on; the
   * rejection is reported when the data shows that position. Without `sid`, the client itself rejects, and reports at
   * once.
   */
  reject(transaction: LocalTransaction, error: RejectedError, sid?: number): void {
    const dependents = this.#dependents(transaction, `rejected (${error.reason})`)
    this.#rejectAll([[transaction, error], ...dependents], sid)
  }

  /**
   * Rejects a transaction that another client of the same data has rejected. That client rejects its dependents, too.
   */
  rejectedElsewhere(transaction: LocalTransaction, error: RejectedError): void {
    const { optimisticUpdates, listener } = this.#options
    for (const rejected of optimisticUpdates.reject([[transaction, error]])) listener.rejected(rejected)
  }

  /** Cancels an unsent transaction. If another client of the same data may have sent it, restores it as a sent one. */
  async cancel(transaction: LocalTransaction): Promise<void> {
    const written = this.#options.log.change(() => ({ end: [endOf(transaction.record, 'cancelled')] }))
    this.#takeOut(transaction, { type: 'cancel' })
    const { refused } = await this.#ended(transaction, written)
    // No other client has a transaction that was never stored.
    const there = refused.get(transaction.id)
    if (refused.size > 0 && (there || transaction.isStored)) {
      // The disk has lost it: it is stored again before the transaction that undoes it.
      if (!there) this.#options.outbox.lost += 1
      this.#keepAsSent(transaction)
    } else this.#rejectDependents(transaction)
  }

  /**
   * Cancels `transaction` because another client of the same data has cancelled it or has made the same decision first.
   */
  withdraw(transaction: LocalTransaction): void {
    if (this.#takeOut(transaction, { type: 'cancel' })) this.#rejectDependents(transaction)
  }

  /**
   * Discards a rejected transaction. Rejects with a StorageError if the disk fails; the transaction then stays
   * rejected.
   */
  async discard(transaction: LocalTransaction): Promise<void> {
    const written = this.#options.log.change({ end: [endOf(transaction.record, 'discarded')] })
    this.drop([transaction])
    await this.#ended(transaction, written)
  }

  /** Removes rejected transactions that were discarded or retried, here or by another client of the same data. */
  drop(rejected: readonly LocalTransaction[]): void {
    for (const transaction of rejected) {
      this.#options.outbox.remove(transaction)
      transaction.dispatch({ type: 'discard' })
    }
  }

  /** Fails a transaction that could not be stored. Restores the rejected transaction that it was to replace. */
  fail(transaction: LocalTransaction, error: SyncError, rejected: LocalTransaction | undefined): void {
    const { reporter, listener } = this.#options
    const replaced = rejected ? [rejected] : []
    if (this.#takeOut(transaction, { type: 'lost', error }, replaced)) this.#rejectDependents(transaction)
    if (rejected) listener.restored(rejected, transaction)
    reporter.error(error)
    if (transaction.state === 'failed') this.#restore(replaced, [transaction])
  }

  /** Restores a transaction that another client may have sent. It is sent again: the server returns its result. */
  #keepAsSent(transaction: LocalTransaction): void {
    this.#exchange([], [transaction])
    for (const type of ['send', 'unsent'] as const) transaction.dispatch({ type })
  }

  /**
   * Waits until the end of `transaction` is stored. If that fails, a restart would find the transaction: restores it
   * here, too.
   */
  async #ended<T>(transaction: LocalTransaction, written: Promise<T>): Promise<T> {
    try {
      return await written
    } catch (thrown) {
      this.#exchange([], [transaction])
      this.#restore([transaction])
      throw toStorageError(thrown)
    }
  }

  /**
   * Stores the restored transactions again and cancels `lost` on the disk: a write that timed out may have succeeded.
   */
  #restore(restored: readonly LocalTransaction[], lost: readonly LocalTransaction[] = []): void {
    const { log, outbox } = this.#options
    const restore = () => restored.filter((one) => outbox.get(one.id) === one).map(({ record }) => record)
    const end = lost.map(({ record }) => endOf(record, 'cancelled'))
    log.change(() => ({ restore: restore(), end })).catch(() => {})
  }

  /**
   * Removes `transaction`, and restores those of `replaced`. Returns whether the state of `transaction` has changed.
   */
  #takeOut(
    transaction: LocalTransaction,
    event: { readonly type: 'cancel' } | { readonly type: 'lost'; readonly error: SyncError },
    replaced: readonly LocalTransaction[] = [],
  ): boolean {
    // A transaction that was rejected before it was stored stays in the outbox.
    this.#exchange(transaction.state === 'rejected' ? [] : [transaction], replaced)
    return transaction.dispatch(event)
  }

  #rejectDependents(transaction: LocalTransaction): void {
    this.#rejectAll(this.#dependents(transaction, transaction.state))
  }

  /** Rejections of all transactions that require `transaction`. `what`: what happened to `transaction`. */
  #dependents(transaction: LocalTransaction, what: string): readonly Rejection[] {
    const message = `A required transaction was ${what}.`
    const error = new RejectedError('dependency_rejected', message)
    const [, ...dependents] = this.#options.outbox.requiring(transaction)
    return dependents.map((one) => [one, error])
  }

  /**
   * Removes `gone` from the outbox and restores each transaction of `replaced` whose state allows it, in its old place.
   */
  #exchange(gone: readonly LocalTransaction[], replaced: readonly LocalTransaction[]): void {
    const { optimisticUpdates, listener } = this.#options
    const restored = replaced.filter((one) => one.dispatch({ type: 'restore' }))
    optimisticUpdates.exchange(gone, restored)
    if (restored.length > 0) listener.queued()
  }

  #rejectAll(rejections: readonly Rejection[], sid?: number): void {
    if (rejections.length === 0) return
    const { outbox, optimisticUpdates, log, reporter, listener } = this.#options
    const rejected = optimisticUpdates.reject(rejections)
    let kept: readonly LocalTransaction[] = []
    log
      .change(() => {
        // Some may have been written again already.
        kept = rejected.filter(({ state }) => state === 'rejected')
        return { keep: kept.map(({ record }) => record) }
      })
      .then((written) => {
        optimisticUpdates.place(kept, written)
        const isOver = (entry: OutboxEntry | undefined) => entry !== undefined && isEnd(entry)
        this.drop(kept.filter(({ id }) => isOver(written.refused.get(id))))
      })
      .catch((thrown) => {
        outbox.lost += 1
        reporter.error(toStorageError(thrown))
      })
    for (const transaction of rejected) {
      if (sid === undefined) listener.rejectionShown(transaction)
      else if (transaction.state === 'rejected') outbox.results.add(transaction, sid)
    }
  }
}
