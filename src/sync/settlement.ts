import type { Outbox } from '../outbox/outbox.ts'
import type { OutboxLog } from '../outbox/outbox-log.ts'
import type { LocalTransaction } from '../outbox/transaction.ts'
import type { DeltaMessage } from '../protocol/delta.ts'
import type { Standing, StandingListener } from './standing.ts'

export interface SettlementOptions {
  readonly outbox: Outbox
  readonly log: OutboxLog
  readonly standing: Standing
  readonly listener: Pick<StandingListener, 'counted' | 'queued' | 'judged'>
}

/** What becomes of the transactions by the data that comes. */
export class Settlement {
  readonly #options: SettlementOptions

  constructor(options: SettlementOptions) {
    this.#options = options
  }

  /** How many verdicts of the server there were. */
  get verdicts(): number {
    return this.#options.outbox.verdicts
  }

  /** A message came. A frame that names a transaction says that the server has it, also where the answer was lost. */
  heard({ changes }: DeltaMessage): void {
    if (changes.kind === 'rows') return
    const { outbox, standing } = this.#options
    const reached = new Map<LocalTransaction, number>()
    for (const { tx, sid } of changes.frames) {
      const transaction = tx === undefined ? undefined : outbox.get(tx)
      if (transaction) reached.set(transaction, Math.max(sid, reached.get(transaction) ?? sid))
    }
    for (const [transaction, sid] of reached) {
      if (outbox.accept(transaction, sid)) this.#keep(transaction)
      // An older version of the application has sent what this one could not migrate.
      else if (transaction.state === 'rejected') standing.discard(transaction).catch(() => {})
    }
  }

  /** Another history came: what had been accepted in the old one is sent again. */
  requeue(): void {
    const { outbox, listener } = this.#options
    for (const transaction of outbox.requeue()) this.#keep(transaction)
    listener.queued()
  }

  /** Those that the data shows once it is proven up to `sid`, by a fetch that began at `verdicts`. */
  shownAt(sid: number, verdicts: number): readonly LocalTransaction[] {
    return this.#options.outbox.shownAt(sid, verdicts)
  }

  /** By the same measure, what was rejected can now be compared with what the server has. */
  judgedAt(sid: number, verdicts: number): void {
    const { outbox, listener } = this.#options
    for (const transaction of outbox.judgedAt(sid, verdicts)) listener.judged(transaction)
  }

  /** These are shown by the data, and no longer laid over it. `stored` resolves once a restart would show them, too. */
  synced(transactions: readonly LocalTransaction[], stored: Promise<void>): void {
    const { outbox, log, listener } = this.#options
    for (const transaction of transactions) {
      outbox.remove(transaction)
      transaction.dispatch({ type: 'sync' })
    }
    listener.counted()
    // What stays on disk, the next start finds to be synced.
    stored.then(() => log.change({ remove: transactions.map(({ id }) => id) })).catch(() => {})
  }

  /** Where this fails, a restart sends it once more, and gets the same answer. */
  #keep({ record }: LocalTransaction): void {
    this.#options.log.put(record).catch(() => {})
  }
}
