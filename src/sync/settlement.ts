import { Alarm } from '../base/alarm.ts'
import type { RejectedError } from '../base/errors.ts'
import type { Clock } from '../base/world.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { OutboxLog } from '../outbox/outbox-log.ts'
import type { LocalTransaction } from '../outbox/transaction.ts'
import type { DeltaMessage } from '../protocol/delta.ts'
import type { RowChange } from '../protocol/fold.ts'
import type { Replica } from '../replica/replica.ts'
import type { Continuity } from './continuity.ts'
import type { Layers } from './layers.ts'
import type { LocalDisk } from './local-disk.ts'
import type { SenderListener } from './sender.ts'
import type { Standing, StandingListener } from './standing.ts'
import type { StoredTransactions } from './stored-transactions.ts'

export interface SettlementOptions {
  readonly clock: Clock
  readonly disk: LocalDisk
  /** Where the data is; `undefined` until there is some. */
  readonly continuity: () => Continuity | undefined
  readonly replica: Pick<Replica, 'rows'>
  readonly outbox: Outbox
  readonly layers: Layers
  readonly log: OutboxLog
  readonly standing: Standing
  readonly transactions: StoredTransactions
  /** How long the data may take to show what was judged, before it is fetched, in ms. */
  readonly echoWait: number
  readonly listener: SettlementListener
}

export type SettlementListener = Pick<StandingListener, 'counted' | 'queued' | 'judged'> & {
  /** The data does not show yet what was said here. */
  missing(): void
}

/** What becomes of the transactions by what the server says: in its answers to them, and by the data that comes. */
export class Settlement implements SenderListener {
  readonly #options: SettlementOptions
  readonly #echo: Alarm
  /** What was rejected, and is to be told once the records that it is about are here. */
  readonly #judged = new Set<LocalTransaction>()

  constructor(options: SettlementOptions) {
    this.#options = options
    this.#echo = new Alarm(options.clock, () => options.listener.missing())
  }

  /** Waits for the data no longer. */
  stop(): void {
    this.#echo.clear()
  }

  /** Has the data fetched, unless it comes by itself to show what the server has judged, also by what others were told. */
  awaitTruth(): void {
    const { outbox, echoWait } = this.#options
    if (!outbox.verdicts.areShown) this.#echo.within(echoWait)
  }

  /** A restart knows by it which ones nobody else has. Where it fails, they are safer at the server all the same. */
  async sending(transactions: readonly LocalTransaction[]): Promise<void> {
    const { log, standing } = this.#options
    const send = transactions.map(({ record }) => record)
    const cancelled = new Set(await log.change({ send }).catch((): string[] => []))
    for (const one of transactions) if (cancelled.has(one.id)) standing.withdraw(one)
  }

  accepted(transaction: LocalTransaction, sid: number): void {
    if (!this.#options.outbox.accept(transaction, sid)) return
    this.#keep(transaction)
    this.#awaitEcho(sid)
  }

  async rejected(transaction: LocalTransaction, error: RejectedError, sid: number): Promise<void> {
    if (error.reason === 'id_reused' && (await this.#goesOnOtherwise(transaction, sid))) return
    // What was made after it, and waited for it, may be shown then.
    this.#options.standing.reject(transaction, error, sid)
    this.#awaitEcho(Number.NEGATIVE_INFINITY)
  }

  /** How many verdicts of the server there were. */
  get verdicts(): number {
    return this.#options.outbox.verdicts.count
  }

  /** A message came. A frame that names a transaction says that the server has it, also where the answer was lost. */
  heard({ frames }: DeltaMessage): void {
    const { outbox, standing } = this.#options
    const reached = new Map<LocalTransaction, number>()
    for (const { tx, sid } of frames) {
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
    for (const transaction of outbox.verdicts.requeue()) this.#keep(transaction)
    listener.queued()
  }

  /** Shows `changes` of the data, which is then proven up to `sid`, by a fetch that began at `verdicts`. */
  change(changes: readonly RowChange[], sid: number, verdicts: number): void {
    this.reached(sid, verdicts, (shown) => this.#options.layers.change(changes, shown))
  }

  /** The same: calls `show` to show the data, and with it those that it holds, which are then no longer laid over it. */
  reached(sid: number, verdicts: number, show: (shown: readonly LocalTransaction[]) => void): void {
    const { outbox } = this.#options
    const shown = outbox.shownAt(sid, verdicts)
    show(shown)
    if (shown.length > 0) this.#synced(shown)
    // What was rejected can be compared with what the server has.
    for (const transaction of outbox.verdicts.shownAt('rejected', sid, verdicts)) {
      outbox.verdicts.remove(transaction)
      this.#judged.add(transaction)
    }
    this.loaded()
  }

  /** Tells what was rejected of the records that are here: they may only just have come from the disk. */
  loaded(): void {
    const { replica, listener } = this.#options
    const judged = [...this.#judged].filter(({ record }) => record.ops.every(({ t }) => replica.rows.has(t)))
    // Each is told once, also where a listener lets more come.
    for (const transaction of judged) this.#judged.delete(transaction)
    for (const transaction of judged) listener.judged(transaction)
  }

  /** These are shown by the data, and no longer laid over it. */
  #synced(transactions: readonly LocalTransaction[]): void {
    const { disk, outbox, log, listener } = this.#options
    // From then on a restart would show them, too.
    const stored = disk.stored()
    for (const transaction of transactions) {
      outbox.remove(transaction)
      transaction.dispatch({ type: 'sync' })
    }
    listener.counted()
    // What stays on disk, the next start finds to be synced.
    stored.then(() => log.change({ remove: transactions.map(({ id }) => id) })).catch(() => {})
  }

  /**
   * Another version of the application may have sent it, before an update or beside this one: the verdict is on its shape.
   * Gives whether it goes on from there.
   */
  async #goesOnOtherwise(transaction: LocalTransaction, sid: number): Promise<boolean> {
    const { outbox, transactions } = this.#options
    const stored = await transactions.find(transaction)
    if (stored === 'gone') {
      // That has seen its end, so the server has it since `sid` at the latest.
      if (outbox.accept(transaction, sid, true)) this.#awaitEcho(sid)
      return true
    }
    return transaction.sendOtherwise(stored)
  }

  /** The data may have come before the verdict, if it reaches to `sid`. */
  #awaitEcho(sid: number): void {
    const data = this.#options.continuity()
    if (data && sid <= data.proven) this.change([], data.proven, 0)
    this.awaitTruth()
  }

  /** Where this fails, a restart sends it once more, and gets the same answer. */
  #keep(transaction: LocalTransaction): void {
    this.#options.log.put(transaction.record).catch(() => {})
  }
}
