import type { RejectedError } from '../base/errors.ts'
import type { OutboxWritten } from '../persistence/outbox.ts'
import { rowKey } from '../protocol/fold.ts'
import { jsonEqual, type Payload } from '../protocol/json.ts'
import type { TxOp } from '../protocol/tx.ts'
import type { Replica } from '../records/replica.ts'
import { type Effect, effectsOf } from './inverse.ts'
import type { Outbox } from './outbox.ts'
import { opsOn } from './own-frames.ts'
import type { LocalTransaction } from './transaction.ts'

export interface OptimisticUpdatesOptions {
  readonly outbox: Outbox
  readonly replica: Replica
}

export type Rejection = readonly [LocalTransaction, RejectedError]

/**
 * Applies the transactions of the outbox on top of the data, in order, except rejected ones. Transactions are added,
 * removed and rejected here, so that the outbox and the shown records change in one step. Those that new data contains
 * are removed with it, by `Acknowledgements`.
 */
export class OptimisticUpdates {
  readonly #options: OptimisticUpdatesOptions

  constructor(options: OptimisticUpdatesOptions) {
    this.#options = options
  }

  /** Removes `gone` from the outbox and inserts `come`, each in its place. */
  exchange(gone: readonly LocalTransaction[], come: readonly LocalTransaction[]): void {
    const { outbox } = this.#options
    for (const transaction of gone) outbox.remove(transaction)
    this.#show('mutation', gone, outbox.insert(come))
  }

  /** Inserts transactions that were found on the disk. The `faulty` ones are about to be rejected and are not shown. */
  found(transactions: readonly LocalTransaction[], faulty: ReadonlyMap<LocalTransaction, unknown>): void {
    const added = this.#options.outbox.insert(transactions).filter((transaction) => !faulty.has(transaction))
    this.#show('delta', [], added)
  }

  /**
   * Rejects transactions. Removes all their updates before any listener is called. Returns the transactions that had no
   * result before.
   */
  reject(rejections: readonly Rejection[]): readonly LocalTransaction[] {
    const all = rejections.map(([transaction]) => transaction)
    this.#show('mutation', all, [])
    return rejections.flatMap(([one, error]) => (this.#options.outbox.reject(one, error) ? [one] : []))
  }

  /** Changes the record of `transaction` and shows the change. */
  amend(transaction: LocalTransaction, change: Parameters<LocalTransaction['amend']>[0]): void {
    this.#options.outbox.remove(transaction)
    transaction.amend(change)
    this.exchange([], [transaction])
  }

  /**
   * Gives transactions the keys under which `written` says they are stored, and moves them to their places in the
   * outbox.
   */
  place(transactions: readonly LocalTransaction[], { stored, refused }: OutboxWritten): void {
    const { outbox } = this.#options
    const moved = transactions.filter((transaction) => {
      const { id, record } = transaction
      const { key } = stored.get(id) ?? refused.get(id) ?? record
      if (key === record.key) return false
      transaction.amend({ key })
      // If the key is the next one, the transaction is in its place already.
      return !outbox.follow(key) && outbox.get(id) === transaction
    })
    if (moved.length > 0) this.exchange([], moved)
  }

  /**
   * The effect of a pending transaction on the records below it: the data with all earlier updates. Before there is
   * data, and if the data seems to contain the transaction, its effect on the records when it was made.
   */
  effectsOf({ id: tx, record, wasSent }: LocalTransaction): readonly Effect[] {
    const { replica } = this.#options
    const images = new Map(effectsOf(record).map(({ t, id, mine }) => [rowKey(t, id), mine]))
    const before = record.before.map((image) => {
      const { t, id } = image
      if (!replica.isReady(t)) return image
      const key = rowKey(t, id)
      const p = replica.below(tx, t, id)?.p ?? null
      // Earlier updates may hide that the data contains it.
      const data = replica.confirmed(t, id)?.p
      return wasSent && isContained(opsOn(record.ops, key), images.get(key), data) ? image : { t, id, p }
    })
    return effectsOf({ ops: record.ops, before }).map((effect) => ({
      ...effect,
      isWhole: this.#isWhole(effect),
    }))
  }

  /** Whether the record as `base` has all fields of the confirmed one: what the server adds is among them. */
  #isWhole({ t, id, base }: Effect): boolean {
    const { replica } = this.#options
    const confirmed = replica.isReady(t) ? replica.confirmed(t, id) : undefined
    if (!base || !confirmed) return false
    return Object.keys(confirmed.p).every((field) => Object.hasOwn(base, field))
  }

  /** Saves the effects of transactions in them, before their updates are removed. */
  note(gone: readonly LocalTransaction[]): void {
    for (const transaction of gone) {
      if (!transaction.effects && transaction.state !== 'rejected')
        transaction.note(this.effectsOf(transaction))
    }
  }

  /** Removes the updates of `gone`, and adds the updates of `added` on top of all others, in order. */
  #show(
    kind: 'delta' | 'mutation',
    gone: readonly LocalTransaction[],
    added: readonly LocalTransaction[],
  ): void {
    this.note(gone)
    const active = added.filter(({ state }) => state !== 'rejected')
    this.#options.replica.apply(
      [],
      { remove: [...gone, ...added].map(({ id }) => id), add: active.map(({ record }) => record) },
      kind,
    )
  }
}

/** Whether the record `p` is as `ops` leave it: `mine`, or with other fields, too. */
function isContained(ops: readonly TxOp[], mine: Payload | undefined, p: Payload | undefined): boolean {
  if (!mine || !p) return !mine && !p
  const isAdded = ops.some((op) => op.op === 'i' && op.put !== true)
  return (
    isAdded ||
    ops.every((op) => op.op === 'd' || Object.keys(op.p).every((field) => jsonEqual(p[field], mine[field])))
  )
}
