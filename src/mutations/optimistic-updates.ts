import type { RejectedError } from '../base/errors.ts'
import type { RowChange } from '../protocol/fold.ts'
import type { Replica } from '../records/replica.ts'
import { type Effect, effectsOf } from './inverse.ts'
import type { Outbox } from './outbox.ts'
import type { LocalTransaction } from './transaction.ts'

export interface OptimisticUpdatesOptions {
  readonly outbox: Outbox
  readonly replica: Replica
  readonly listener: OptimisticUpdatesListener
}

export interface OptimisticUpdatesListener {
  /**
   * Calls `apply` to show `changes` of the data, and that `transactions` are laid over it otherwise, or no longer.
   * `mutation`: by what was written or decided here.
   */
  change(
    kind: 'delta' | 'mutation',
    changes: readonly RowChange[],
    transactions: readonly LocalTransaction[],
    apply: () => void,
  ): void
}

export type Rejection = readonly [LocalTransaction, RejectedError]

/**
 * The transactions of the outbox as they lie over the data: in their order, all but those that are rejected. One is added,
 * taken back or rejected here, so that the outbox and what is shown change at once.
 */
export class OptimisticUpdates {
  readonly #options: OptimisticUpdatesOptions

  constructor(options: OptimisticUpdatesOptions) {
    this.#options = options
  }

  /** `gone` leave, and `come` stand there from now on, each in its place. */
  exchange(gone: readonly LocalTransaction[], come: readonly LocalTransaction[]): void {
    const { outbox } = this.#options
    for (const one of gone) outbox.remove(one)
    this.#show('mutation', gone, outbox.insert(come))
  }

  /** The same of those that other clients have made. What is about to be rejected is not shown before. */
  found(transactions: readonly LocalTransaction[], faulty: ReadonlyMap<LocalTransaction, unknown>): void {
    const behind = this.#options.outbox.insert(transactions).filter((one) => !faulty.has(one))
    this.#show('delta', [], behind)
  }

  /** All are taken back before anybody hears of it. Gives those that were not judged before. */
  reject(rejections: readonly Rejection[]): readonly LocalTransaction[] {
    const all = rejections.map(([transaction]) => transaction)
    this.#show('mutation', all, [])
    return rejections.flatMap(([one, error]) => (this.#options.outbox.reject(one, error) ? [one] : []))
  }

  /** Its record is another from now on. */
  amend(transaction: LocalTransaction, change: Parameters<LocalTransaction['amend']>[0]): void {
    this.#options.outbox.remove(transaction)
    transaction.amend(change)
    this.exchange([], [transaction])
  }

  /** What a pending transaction does to each record, as it is below it now; before there is data, as it was made. */
  effectsOf({ id: tx, record }: LocalTransaction): readonly Effect[] {
    const { replica } = this.#options
    const before = record.before.map((image) => {
      const { t, id } = image
      return replica.isReady(t) ? { t, id, p: replica.below(tx, t, id)?.p ?? null } : image
    })
    return effectsOf({ ops: record.ops, before })
  }

  /** These are about to leave: notes what they did. */
  note(gone: readonly LocalTransaction[]): void {
    for (const one of gone) if (!one.effects && one.state !== 'rejected') one.note(this.effectsOf(one))
  }

  /** Shows `changes` of the data, and `settled` as the data has them. */
  change(changes: readonly RowChange[], settled: readonly LocalTransaction[]): void {
    if (changes.length + settled.length > 0) this.#show('delta', settled, [], changes)
  }

  /** Lays `behind` on top of all others, in their order; `gone` are laid no more. */
  #show(
    kind: 'delta' | 'mutation',
    gone: readonly LocalTransaction[],
    behind: readonly LocalTransaction[],
    changes: readonly RowChange[] = [],
  ): void {
    const { replica, listener } = this.#options
    this.note(gone)
    const touched = [...gone, ...behind]
    const standing = behind.filter(({ state }) => state !== 'rejected')
    const optimisticUpdates = { lift: touched.map(({ id }) => id), lay: standing.map(({ record }) => record) }
    listener.change(kind, changes, touched, () => replica.apply(changes, optimisticUpdates))
  }
}
