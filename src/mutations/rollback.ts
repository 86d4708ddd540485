import type { ErrorReporter } from '../base/error-reporter.ts'
import { RejectedError, type SyncError, toStorageError } from '../base/errors.ts'
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
  /** How many are pending or rejected may be another. */
  counted(): void
  /** There is something to send. */
  queued(): void
  /** `transaction` stands again: `lost`, which was to take its place, could not be stored. */
  stands(transaction: LocalTransaction, lost: LocalTransaction): void
  /** It was rejected, and the data shows by what. */
  judged(transaction: LocalTransaction): void
}

/** Takes transactions that do not stand out of the outbox and of what is shown, and puts back those that stand after all. */
export class Rollback {
  readonly #options: RollbackOptions

  constructor(options: RollbackOptions) {
    this.#options = options
  }

  /**
   * `transaction` is refused, and so are all that require it: by the server, from what it has at `sid`, or here. What the
   * server refused is told when the data shows that.
   */
  reject(transaction: LocalTransaction, error: RejectedError, sid?: number): void {
    const dependents = this.#dependents(transaction, `rejected (${error.reason})`)
    this.#rejectAll([[transaction, error], ...dependents], sid)
  }

  /** Takes back one that was not sent. Where another client of the same data may have sent it, it stands as one that was. */
  async cancel(transaction: LocalTransaction): Promise<void> {
    const written = this.#options.log.change({ cancel: [transaction.id] })
    this.#takeOut(transaction, { type: 'cancel' })
    const sent = await this.#leaves(transaction, written)
    if (sent.length > 0) this.standSent([transaction])
    else this.#rejectDependents(transaction)
  }

  /**
   * Another client of the same data has taken `transaction` back before it was sent, or has decided first what it decides:
   * `replaced` stand again.
   */
  withdraw(transaction: LocalTransaction, replaced: readonly LocalTransaction[] = []): void {
    if (this.#takeOut(transaction, { type: 'cancel' }, replaced)) this.#rejectDependents(transaction)
  }

  /** Gives up one that was rejected. */
  async discard(transaction: LocalTransaction): Promise<void> {
    const gone = this.#options.log.change({ discard: [transaction.id] })
    this.drop([transaction])
    await this.#leaves(transaction, gone)
  }

  /** Another client of the same data has discarded these, or tried them again. */
  drop(rejected: readonly LocalTransaction[]): void {
    const { outbox, listener } = this.#options
    if (rejected.length === 0) return
    for (const transaction of rejected) {
      outbox.remove(transaction)
      transaction.dispatch({ type: 'discard' })
    }
    listener.counted()
  }

  /** It could not be stored, so it is taken back; what it was to take the place of stands again. */
  lose(transaction: LocalTransaction, error: SyncError, replaced: readonly LocalTransaction[]): void {
    const { reporter, listener } = this.#options
    if (this.#takeOut(transaction, { type: 'lost', error }, replaced)) this.#rejectDependents(transaction)
    for (const one of replaced) listener.stands(one, transaction)
    reporter.error(error)
    if (transaction.state === 'failed') this.#restore(replaced, [transaction.id])
  }

  /** What became of them, the server says when they are sent once more. */
  standSent(transactions: readonly LocalTransaction[]): void {
    this.#exchange([], transactions)
    for (const transaction of transactions) {
      for (const type of ['send', 'unsent'] as const) transaction.dispatch({ type })
    }
  }

  /** Where the disk does not let `transaction` go, a restart would find it: it stands as before. */
  async #leaves<T>(transaction: LocalTransaction, written: Promise<T>): Promise<T> {
    try {
      return await written
    } catch (thrown) {
      this.#exchange([], [transaction])
      this.#restore([transaction])
      throw toStorageError(thrown)
    }
  }

  /** Writes what stands, without what is lost: a store that told of no end in time may have done its work all the same. */
  #restore(standing: readonly LocalTransaction[], lost: readonly string[] = []): void {
    const { log, outbox } = this.#options
    const restore = () => standing.filter((one) => outbox.get(one.id) === one).map(({ record }) => record)
    log.change(() => ({ restore: restore(), remove: lost })).catch(() => {})
  }

  /** Gives whether that is new. */
  #takeOut(
    transaction: LocalTransaction,
    event: { readonly type: 'cancel' } | { readonly type: 'lost'; readonly error: SyncError },
    replaced: readonly LocalTransaction[] = [],
  ): boolean {
    // What was rejected before it was stored stays, to be looked at.
    this.#exchange(transaction.state === 'rejected' ? [] : [transaction], replaced)
    if (!transaction.dispatch(event)) return false
    this.#options.listener.counted()
    return true
  }

  #rejectDependents(transaction: LocalTransaction): void {
    this.#rejectAll(this.#dependents(transaction, transaction.state))
  }

  /** All that require `transaction`, and that it was `what`. */
  #dependents(transaction: LocalTransaction, what: string): readonly Rejection[] {
    const message = `It requires another transaction, which was ${what}.`
    const error = new RejectedError('dependency_rejected', message)
    const [, ...dependents] = this.#options.outbox.requiring(transaction)
    return dependents.map((one) => [one, error])
  }

  /** Takes `gone` out, and puts those of `replaced` back where they stood. */
  #exchange(gone: readonly LocalTransaction[], replaced: readonly LocalTransaction[]): void {
    const { optimisticUpdates, listener } = this.#options
    const again = replaced.filter((one) => one.dispatch({ type: 'restore' }))
    optimisticUpdates.exchange(gone, again)
    if (again.length === 0) return
    listener.counted()
    listener.queued()
  }

  #rejectAll(rejections: readonly Rejection[], sid?: number): void {
    if (rejections.length === 0) return
    const { outbox, optimisticUpdates, log, reporter, listener } = this.#options
    const rejected = optimisticUpdates.reject(rejections)
    // Whoever heard of it may have tried it anew.
    const kept = rejected.filter(({ state }) => state === 'rejected')
    log
      .change({ keep: kept.map(({ record }) => record) })
      .then((gone) => this.drop(kept.filter(({ id }) => gone.includes(id))))
      .catch((thrown) => reporter.error(toStorageError(thrown)))
    listener.counted()
    for (const transaction of rejected) {
      if (sid === undefined) listener.judged(transaction)
      else if (transaction.state === 'rejected') outbox.results.add(transaction, sid)
    }
  }
}
