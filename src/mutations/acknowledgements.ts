import type { Clock } from '../base/environment.ts'
import type { RejectedError } from '../base/errors.ts'
import { Timer } from '../base/timer.ts'
import type { Disk } from '../persistence/disk.ts'
import type { OutboxRecord } from '../persistence/outbox.ts'
import { type HistoryPosition, isOtherEpochOrBehind } from '../protocol/bootstrap.ts'
import { type DeltaMessage, framesOf } from '../protocol/delta.ts'
import type { RowChange } from '../protocol/fold.ts'
import { isOtherEpoch } from '../protocol/guards.ts'
import type { Replica } from '../records/replica.ts'
import type { DataPosition } from './data-position.ts'
import { effectsIn } from './inverse.ts'
import type { OptimisticUpdates } from './optimistic-updates.ts'
import type { Outbox } from './outbox.ts'
import type { OutboxLog } from './outbox-log.ts'
import type { Rollback, RollbackListener } from './rollback.ts'
import type { SenderListener } from './sender.ts'
import type { StoredTransactions } from './stored-transactions.ts'
import type { LocalTransaction } from './transaction.ts'

/** How many transactions of other clients are remembered that the data has shown. */
const maxHeard = 1_000

export interface AcknowledgementsOptions {
  readonly clock: Clock
  readonly disk: Disk
  /** Where the data is; `undefined` until there is some. */
  readonly position: () => DataPosition | undefined
  readonly replica: Pick<Replica, 'rows'>
  readonly outbox: Outbox
  readonly optimisticUpdates: OptimisticUpdates
  readonly log: OutboxLog
  readonly rollback: Rollback
  readonly transactions: StoredTransactions
  /** How long the data may take to show what was judged, before it is fetched, in ms. */
  readonly echoTimeout: number
  readonly listener: AcknowledgementsListener
}

export type AcknowledgementsListener = Pick<RollbackListener, 'counted' | 'queued' | 'judged'> & {
  /** The data has shown a transaction that this client does not hold: another client may have left it on the disk. */
  others(): void
  /** The data does not show yet what was said here. */
  missing(): void
}

/** What becomes of the transactions by what the server says: in its answers to them, and by the data that comes. */
export class Acknowledgements implements SenderListener {
  readonly #options: AcknowledgementsOptions
  readonly #echo: Timer
  /** What was rejected, and is to be told once the records that it is about are here. */
  readonly #judged = new Set<LocalTransaction>()
  /** The ids of transactions that the data has shown and this client does not hold: another one may have left them on the disk. */
  readonly #heard = new Set<string>()
  /** What is to be kept as it is now. */
  readonly #kept: OutboxRecord[] = []
  /** What the data has shown and is still on the disk. */
  readonly #leaving = new Map<string, OutboxRecord>()

  constructor(options: AcknowledgementsOptions) {
    this.#options = options
    this.#echo = new Timer(options.clock, () => options.listener.missing())
  }

  /** Waits for the data no longer. */
  stop(): void {
    this.#echo.clear()
  }

  /** Has the data fetched, unless it comes by itself to show what the server has judged, also by what others were told. */
  awaitTruth(): void {
    const { outbox, echoTimeout } = this.#options
    if (!outbox.results.areShown) this.#echo.within(echoTimeout)
  }

  /** A restart knows by it which ones nobody else has. Where it fails, they are safer at the server all the same. */
  async sending(transactions: readonly LocalTransaction[]): Promise<void> {
    const { log, rollback } = this.#options
    const send = transactions.flatMap(({ isStored, record }) => (isStored ? record : []))
    if (send.length === 0) return
    const cancelled = new Set(await log.change({ send }).catch((): string[] => []))
    for (const one of transactions) if (cancelled.has(one.id)) rollback.withdraw(one)
  }

  accepted(transaction: LocalTransaction, sid: number, epoch: string | undefined): void {
    if (!this.#options.outbox.accept(transaction, sid, epoch)) return
    this.#keep(transaction)
    this.#awaitEcho(sid)
  }

  async rejected(transaction: LocalTransaction, error: RejectedError, sid: number): Promise<void> {
    if (error.reason === 'id_reused' && (await this.#goesOnOtherwise(transaction, sid))) return
    // What was made after it, and waited for it, may be shown then.
    this.#options.rollback.reject(transaction, error, sid)
    this.#awaitEcho(Number.NEGATIVE_INFINITY)
  }

  /** How many results of the server there were. */
  get results(): number {
    return this.#options.outbox.results.count
  }

  /** A message came. A frame that names a transaction says that the server has it, also where the answer was lost. */
  heard(message: DeltaMessage): void {
    const { outbox, rollback, replica, listener, position } = this.#options
    const { frames, epoch = position()?.epoch } = message
    const reached = new Map<LocalTransaction, number>()
    const others = frames.flatMap(({ tx, sid }) => {
      const transaction = tx === undefined ? undefined : outbox.get(tx)
      if (transaction) reached.set(transaction, Math.max(sid, reached.get(transaction) ?? sid))
      return tx === undefined || outbox.knows(tx) || this.#heard.has(tx) ? [] : [tx]
    })
    const inOrder = reached.size > 0 ? framesOf(message, () => false) : []
    for (const [transaction, sid] of reached) {
      transaction.note(effectsIn(inOrder, transaction.id, replica.rows))
      if (outbox.accept(transaction, sid, epoch)) this.#keep(transaction)
      // An older version of the application has sent what this one could not migrate.
      else if (transaction.state === 'rejected') rollback.discard(transaction).catch(() => {})
    }
    if (this.#heard.size > maxHeard) this.#heard.clear()
    for (const tx of others) this.#heard.add(tx)
    if (others.length > 0) listener.others()
  }

  /**
   * `record`, which another client has stored, as it counts here; nothing where the data has shown it, and then it leaves
   * the disk. What was accepted in another history counts as sent.
   */
  take(record: OutboxRecord): OutboxRecord | undefined {
    const data = this.#options.position()
    const { id, state, sid = Number.POSITIVE_INFINITY, acceptedEpoch, seen } = record
    const isAccepted = state === 'accepted' && data !== undefined
    const isOther = isAccepted && isOtherEpoch(data, acceptedEpoch)
    const isShown = isAccepted && (isOther ? seen : sid <= data.confirmed)
    if (!isShown && !this.#heard.has(id)) return isOther ? { ...record, state: 'sending' } : record
    this.#leave([record])
    return undefined
  }

  /** Data of `head` is about to take the place of what is here. What was accepted in another history is sent again. */
  enter(head: HistoryPosition, data: HistoryPosition | undefined): void {
    const { outbox, listener } = this.#options
    if (data && isOtherEpochOrBehind(data, head)) this.#heard.clear()
    const again = outbox.results.requeue(head, data)
    for (const transaction of again) this.#keep(transaction)
    if (again.length > 0) listener.queued()
  }

  /** Shows `changes` of the data, which is then confirmed up to `sid`, by a fetch that began at `results`. */
  change(changes: readonly RowChange[], sid: number, results: number): void {
    this.reached(sid, results, (shown) => this.#options.optimisticUpdates.change(changes, shown))
  }

  /** The same: calls `show` to show the data, and with it those that it holds, which are then no longer laid over it. */
  reached(sid: number, results: number, show: (shown: readonly LocalTransaction[]) => void): void {
    const { outbox, optimisticUpdates } = this.#options
    const shown = outbox.shownAt(sid, results)
    optimisticUpdates.note(shown)
    show(shown)
    if (shown.length > 0) this.#synced(shown)
    // What was rejected can be compared with what the server has.
    for (const transaction of outbox.results.shownAt('rejected', sid, results)) {
      outbox.results.remove(transaction)
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
    const { outbox, listener } = this.#options
    const accepted = transactions.map(({ record }) => record)
    for (const transaction of transactions) {
      outbox.remove(transaction)
      transaction.dispatch({ type: 'sync' })
    }
    listener.counted()
    this.#leave(accepted)
  }

  /**
   * The data has shown these, so they leave the disk: once the data is stored, after which a restart would show them, too.
   * Where this client will not store it, they leave at once. Where storing fails for now, they are marked as seen.
   */
  #leave(records: readonly OutboxRecord[]): void {
    const { disk, log } = this.#options
    for (const record of records) this.#leaving.set(record.id, record)
    const leave = async () => {
      const isOver = await disk.stored().then(
        () => true,
        () => disk.isOthers,
      )
      const left = [...this.#leaving.values()]
      if (!isOver) return log.change({ update: left.map((record) => ({ ...record, seen: true })) })
      await log.change({ remove: left.map(({ id }) => id) })
      for (const { id } of left) this.#leaving.delete(id)
    }
    // What stays on the disk all the same, the next start finds to be synced.
    leave().catch(() => {})
  }

  /** The disk may take writes again: what is to leave it leaves. */
  leaveAgain(): void {
    if (this.#leaving.size > 0) this.#leave([])
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
      const { epoch } = this.#options.position() ?? {}
      if (outbox.accept(transaction, sid, epoch, true)) this.#awaitEcho(sid)
      return true
    }
    return transaction.sendOtherwise(stored)
  }

  /** The data may have come before the verdict, if it reaches to `sid`. */
  #awaitEcho(sid: number): void {
    const data = this.#options.position()
    if (data && sid <= data.confirmed) this.change([], data.confirmed, 0)
    this.awaitTruth()
  }

  /** Where this fails, a restart sends it once more, and gets the same answer. */
  #keep({ isStored, record }: LocalTransaction): void {
    if (!isStored) return
    this.#kept.push(record)
    if (this.#kept.length > 1) return
    // All that are judged meanwhile are written at once.
    const update = () => ({ update: this.#kept.splice(0) })
    this.#options.log.change(update).catch(() => {})
  }
}
