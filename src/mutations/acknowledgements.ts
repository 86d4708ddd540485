import type { Clock } from '../base/environment.ts'
import { type RejectedError, toStorageError } from '../base/errors.ts'
import { Timer } from '../base/timer.ts'
import type { Disk } from '../persistence/disk.ts'
import {
  endOf,
  type OutboxEnd,
  type OutboxEntry,
  type OutboxNews,
  type OutboxRecord,
} from '../persistence/outbox.ts'
import { type HistoryPosition, isOtherEpochOrBehind } from '../protocol/bootstrap.ts'
import type { DeltaFrame, DeltaMessage } from '../protocol/delta.ts'
import { type RowChange, type RowSource, rowKey } from '../protocol/fold.ts'
import { isOtherEpoch } from '../protocol/guards.ts'
import { applyTxOp } from '../protocol/remaining-op.ts'
import type { Replica } from '../records/replica.ts'
import type { DataPosition } from './data-position.ts'
import { type Effect, effectsIn } from './inverse.ts'
import type { OptimisticUpdates } from './optimistic-updates.ts'
import { isUnsent, type Outbox } from './outbox.ts'
import type { OutboxLog } from './outbox-log.ts'
import { OwnFrames, opsOn, recordsOf } from './own-frames.ts'
import type { Rollback, RollbackListener } from './rollback.ts'
import type { SenderListener } from './sender.ts'
import { type LocalTransaction, rejectionOf } from './transaction.ts'

/** The approximate maximum number of positions of transactions to remember. */
const maxShown = 8_000

/**
 * The delay before the result of a transaction is written to the disk, in ms. If the data that contains the transaction
 * is stored sooner, the result is never written.
 */
const storeMs = 500

export interface AcknowledgementsOptions {
  readonly clock: Clock
  readonly disk: Disk
  /** The position of the local data; `undefined` until there is data. */
  readonly position: () => DataPosition | undefined
  readonly replica: Pick<Replica, 'rows' | 'apply' | 'confirmed'>
  readonly outbox: Outbox
  readonly optimisticUpdates: OptimisticUpdates
  readonly log: OutboxLog
  readonly rollback: Rollback
  /** See `MutationsOptions.follows`. */
  readonly follows: () => boolean
  /** See `MutationsOptions.hears`. */
  readonly hears: () => boolean
  /** Time in ms for the data to show the effect of a result; after that, the client fetches the data. */
  readonly echoTimeout: number
  readonly listener: AcknowledgementsListener
}

export type AcknowledgementsListener = Pick<RollbackListener, 'queued' | 'rejectionShown'> & {
  /** The data does not yet show the effect of a result. */
  fetchNeeded(): void
  /** The state of stored transactions has changed. */
  stored(news: OutboxNews): void
  /** The server has removed records, which the data still has although it contains the removal. */
  removed(frames: readonly DeltaFrame[]): void
}

/** Settles transactions by the server's results and by the data that arrives. */
export class Acknowledgements implements SenderListener {
  readonly #options: AcknowledgementsOptions
  readonly #echo: Timer
  readonly #storing: Timer
  /** Rejected transactions to report once the records that they change are loaded. */
  readonly #toReport = new Set<LocalTransaction>()
  /**
   * The positions of transactions that a frame has named, or that have ended here, by id. Another client may have left
   * them on the disk, or stored them again.
   */
  readonly #shown = new Map<string, number>()
  /** Refused undos that are made again once the data shows why. Until then, nobody hears that they were refused. */
  readonly #toRemake = new WeakMap<LocalTransaction, RejectedError>()
  /** Transactions whose current state is to be written to the disk. */
  readonly #toStore = new Set<LocalTransaction>()
  readonly #ownFrames = new OwnFrames()
  /** Records of transactions that the data contains and that have not ended on the disk, by id. */
  readonly #toEnd = new Map<string, OutboxRecord>()
  /** The ids of the transactions whose ends a recorded delta carries. */
  readonly #carried = new Set<string>()

  constructor(options: AcknowledgementsOptions) {
    this.#options = options
    this.#echo = new Timer(options.clock, () => options.listener.fetchNeeded())
    this.#storing = new Timer(options.clock, () => void this.#storeNow())
  }

  /** Stops waiting for the data, and stores the states of transactions that are not stored yet. */
  stop(): void {
    this.#echo.clear()
    if (this.#storing.at < Number.POSITIVE_INFINITY) void this.#storeNow()
  }

  /** Resolves once the states of all transactions are stored. */
  async close(): Promise<void> {
    await this.#storeNow()
  }

  /** The ids of the transactions that the data contains and that have not ended on the disk. */
  get toEnd(): Iterable<string> {
    return this.#toEnd.keys()
  }

  /**
   * The removals by the transactions that data at `sid` will contain, as frames. A delta of whole rows shows none.
   * `results`: as for {@link change}.
   */
  removedAt(sid: number, results: number): readonly DeltaFrame[] {
    const { outbox, replica } = this.#options
    return outbox.shownAt(sid, results).flatMap(({ record: { ops, sent = ops } }) =>
      [...recordsOf(sent)].flatMap(([key, record]) => {
        const before = replica.confirmed(record.t, record.id)
        const after = opsOn(sent, key).reduce(applyTxOp, before)
        return before && !after ? removalOf(record, sid) : []
      }),
    )
  }

  /**
   * The ends to store with data at `sid`. `results`: as for {@link change}. Each end is returned once, unless it is not
   * stored then. Leaves out transactions whose key on the disk is not certain.
   */
  endsAt(sid: number, results: number): readonly OutboxEnd[] {
    const { outbox } = this.#options
    return this.takeEnds(outbox.shownAt(sid, results).map(({ record }) => record))
  }

  /** The ends to store with data that is shown, and those of `shown`, as {@link endsAt} does. */
  takeEnds(shown: readonly OutboxRecord[] = []): readonly OutboxEnd[] {
    const ends = endsOf([...this.#toEnd.values(), ...shown]).filter(({ id }) => !this.#carried.has(id))
    for (const { id } of ends) this.#carried.add(id)
    return ends
  }

  /**
   * Reports missing data unless the data shows every result within `echoTimeout`. Results that other clients received
   * count, too.
   */
  awaitData(): void {
    const { outbox, echoTimeout } = this.#options
    if (!outbox.results.areShown) this.#echo.within(echoTimeout)
  }

  /**
   * Marks stored transactions as sent on the disk, so that a restart knows which ones the server cannot have. If the
   * write fails, the transactions are sent all the same, since they are safer at the server. Rejects if the user has
   * signed out: nothing is sent then.
   */
  async sending(transactions: readonly LocalTransaction[]): Promise<void> {
    const { log, rollback } = this.#options
    const send = transactions.flatMap(({ isStored, record }) => (isStored ? record : []))
    if (send.length === 0) return
    const { refused } = await log.change({ send }).catch((error) => {
      if (toStorageError(error).code === 'signed_out') throw error
      return { refused: new Map<string, OutboxEntry>() }
    })
    for (const transaction of transactions) {
      const entry = refused.get(transaction.id)
      if (entry?.state === 'cancelled' || entry?.state === 'discarded') rollback.withdraw(transaction)
      else if (entry) this.settle(transaction, entry)
    }
  }

  accepted(transaction: LocalTransaction, sid: number, epoch: string | undefined, hasTx: boolean): void {
    transaction.amend({ hasTx })
    if (!this.#options.outbox.accept(transaction, sid, epoch)) return
    this.#store(transaction)
    // Notify the other tabs now: the new state is stored later.
    if (transaction.isStored) this.#options.listener.stored([transaction.record])
    this.#awaitEcho(sid, transaction)
  }

  /** Applies `entry`, which another tab has stored for `transaction`. */
  settle(transaction: LocalTransaction, entry: OutboxEntry): void {
    const { outbox, rollback, position } = this.#options
    switch (entry.state) {
      case 'sending':
        if (!isUnsent(transaction)) return
        for (const type of ['send', 'unsent'] as const) transaction.dispatch({ type })
        return
      case 'accepted':
      case 'synced': {
        const { state, sid = 0, acceptedEpoch } = entry
        if (entry.state === 'accepted') transaction.amend({ hasTx: entry.hasTx })
        if (outbox.accept(transaction, sid, acceptedEpoch, state === 'synced'))
          this.#awaitEcho(sid, transaction)
        // The server had another history when it rejected the transaction.
        else if (transaction.state === 'rejected' && !isOtherEpoch(position() ?? {}, acceptedEpoch))
          rollback.drop([transaction])
        return
      }
      case 'rejected':
        // Another version of the application could not migrate the transaction. This version may be able to send it.
        if (entry.error?.code === 'migration') return
        rollback.rejectedElsewhere(transaction, rejectionOf(entry))
        return
      case 'cancelled':
      case 'discarded':
        if (transaction.state === 'rejected') rollback.drop([transaction])
        else if (transaction.state === 'queued') rollback.withdraw(transaction)
    }
  }

  rejected(transaction: LocalTransaction, error: RejectedError, sid: number): void {
    if (isOvertaken(transaction, error)) {
      this.#toRemake.set(transaction, error)
      this.#options.outbox.results.add(transaction, sid)
    } else {
      // Later transactions on the same records no longer have to wait for this one.
      this.#options.rollback.reject(transaction, error, sid)
    }
    if (error.reason === 'not_found' && this.#ownFrames.areRows) this.#removeMissing(transaction, sid)
    this.#awaitEcho(Number.NEGATIVE_INFINITY)
  }

  /**
   * Removes the record of a transaction that the server has refused because it has no such record. Deltas of rows do not
   * show that a record is gone. `sid`: the server's position in its response.
   */
  #removeMissing({ record: { ops } }: LocalTransaction, sid: number): void {
    const { position, listener } = this.#options
    const { confirmed = 0 } = position() ?? {}
    const removals = [...recordsOf(ops)].map(([, record]) => removalOf(record, confirmed))
    // Of several records, nobody says which one is missing.
    if (confirmed <= sid && removals.length === 1) listener.removed(removals)
  }

  /** The number of results that the server has returned so far. */
  get results(): number {
    return this.#options.outbox.results.count
  }

  /**
   * Handles a message with frames. A frame that names a transaction proves that the server has the transaction, even if
   * the response was lost. `confirmed`: the frames that continue the confirmed data, in order. `rows`: the confirmed
   * rows before them.
   */
  heard(message: DeltaMessage, confirmed: readonly DeltaFrame[], rows: RowSource): void {
    const { outbox, rollback, position, hears, listener } = this.#options
    const { frames, epoch = position()?.epoch } = message
    const reached = new Map<LocalTransaction, number>()
    if (this.#shown.size > maxShown) this.#shown.clear()
    for (const { tx, sid } of frames) {
      if (tx === undefined) continue
      // Also of one that is not in the outbox because it is being cancelled, too late.
      this.#shown.set(tx, sid)
      const transaction = outbox.get(tx)
      if (transaction) reached.set(transaction, Math.max(sid, reached.get(transaction) ?? sid))
      // It may be on the disk, from a tab that has crashed: sending reads the disk, and ends it there.
      else if (!outbox.knows(tx) && !hears()) listener.queued()
    }
    // Without own transactions, no frame matters. A delta may be large.
    const noted = message.kind === 'row' || outbox.list().length > 0 ? confirmed : []
    this.#ownFrames.note(message, noted, rows, (key) => outbox.isAwaited(key))
    for (const [transaction, sid] of reached) {
      const effects = effectsIn(confirmed, transaction.id, transaction.record.ops, rows)
      if (effects.length > 0) transaction.note(effects)
      if (outbox.accept(transaction, sid, epoch)) this.#store(transaction)
      // The server had another history when it rejected the transaction, or an older version of the application has sent
      // a transaction that this version could not migrate.
      else if (transaction.state === 'rejected') {
        rollback.drop([transaction])
        this.#endStored([{ ...transaction.record, state: 'accepted', sid, acceptedEpoch: epoch }])
      }
    }
  }

  /**
   * If the data contains the transaction of `record`, which another client has stored, ends it on the disk and returns
   * `undefined`. If not, returns the record for the outbox of this client. A transaction that was accepted in another
   * history counts as sent.
   */
  endIfShown(record: OutboxRecord): OutboxRecord | undefined {
    const data = this.#options.position()
    const { id, state, sid = Number.POSITIVE_INFINITY, acceptedEpoch, seen } = record
    const isAccepted = state === 'accepted' && data !== undefined
    const isOther = isAccepted && isOtherEpoch(data, acceptedEpoch)
    const isShown = isAccepted && (isOther ? seen : sid <= data.confirmed)
    const shownAt = this.#shown.get(id)
    if (isShown) this.#endStored([record])
    else if (shownAt !== undefined) {
      this.#endStored([{ ...record, state: 'accepted', sid: shownAt, acceptedEpoch: data?.epoch }])
    } else return isOther ? { ...record, state: 'sending' } : record
    return undefined
  }

  /**
   * Call before data of `head` replaces the current data. Queues transactions again that were accepted in another
   * history.
   */
  enter(head: HistoryPosition, data: HistoryPosition | undefined): void {
    const { outbox, listener } = this.#options
    const isOther = data !== undefined && isOtherEpochOrBehind(data, head)
    if (isOther) this.#shown.clear()
    this.#ownFrames.lose(head.sid, isOther)
    const requeued = outbox.results.requeue(head, data)
    for (const transaction of requeued) this.#store(transaction)
    if (requeued.length > 0) listener.queued()
  }

  /**
   * Shows `changes` of the data, which is then confirmed up to `sid`. `results`: the number of results when the fetch
   * of the data began.
   */
  change(changes: readonly RowChange[], sid: number, results: number): void {
    this.reached(sid, results, (remove) => {
      if (changes.length + remove.length > 0) this.#options.replica.apply(changes, { remove })
    })
  }

  /**
   * As {@link change}, but calls `show` to show the data. `show` takes the ids of the transactions that the data now
   * contains: their optimistic updates have to be removed in the same step.
   */
  reached(sid: number, results: number, show: (remove: readonly string[]) => void): void {
    const { outbox, optimisticUpdates, listener } = this.#options
    const shown = outbox.shownAt(sid, results)
    const guessed = shown.flatMap((one) => {
      const effects = one.effects ?? this.#shownBy(one)
      if (effects) one.note(effects)
      return effects ? [] : { one, effects: optimisticUpdates.effectsOf(one) }
    })
    show(shown.map(({ id }) => id))
    for (const { one, effects } of guessed) one.note(effects.map((effect) => this.#withRow(one, effect)))
    if (shown.length > 0) this.#finish(shown)
    // A rejected transaction can now be compared with the server's records.
    for (const transaction of outbox.results.shownAt('rejected', sid, results)) {
      outbox.results.remove(transaction)
      this.#toReport.add(transaction)
    }
    for (const transaction of outbox.results.shownAt('sending', sid, results)) {
      const error = this.#toRemake.get(transaction)
      this.#toRemake.delete(transaction)
      outbox.results.remove(transaction)
      const isLoaded = transaction.record.ops.every(({ t }) => this.#options.replica.rows.has(t))
      if (error) this.#options.rollback.reject(transaction, error, isLoaded ? undefined : sid)
    }
    this.loaded()
    if (outbox.waitsForData) listener.queued()
  }

  /** The effects of an accepted transaction, if the frames show them. */
  #shownBy(transaction: LocalTransaction): readonly Effect[] | undefined {
    const { sid = Number.POSITIVE_INFINITY, hasTx } = transaction.record
    const { unknownTo, hasTx: isNamed } = this.#ownFrames
    if (sid <= unknownTo) return undefined
    // If frames name their transactions and none names this one, it changed nothing.
    if (hasTx || isNamed) return this.#shown.has(transaction.id) ? undefined : []
    return this.#ownFrames.effectsOf(transaction, sid)
  }

  /**
   * `effect` with the fields of the record as the server has them, if nobody else has changed the record since the
   * transaction.
   */
  #withRow(transaction: LocalTransaction, effect: Effect): Effect {
    const { sid = Number.NaN, ops } = transaction.record
    const { t, id, mine } = effect
    if (!mine) return effect
    const key = rowKey(t, id)
    const row = this.#options.replica.confirmed(t, id)
    const isLast = row && this.#ownFrames.isLast(transaction, sid, key, row.v)
    return { ...effect, mine: isLast ? row.p : mine, isWhole: true, ops: opsOn(ops, key) }
  }

  /** Reports rejected transactions whose records are loaded. Call when records were read from the disk, too. */
  loaded(): void {
    const { replica, listener } = this.#options
    const rejected = [...this.#toReport].filter(({ record }) =>
      record.ops.every(({ t }) => replica.rows.has(t)),
    )
    // Remove all first: a listener may cause more data to be shown, and each transaction is reported once.
    for (const transaction of rejected) this.#toReport.delete(transaction)
    for (const transaction of rejected) listener.rejectionShown(transaction)
  }

  /** Ends transactions that the data contains. */
  #finish(transactions: readonly LocalTransaction[]): void {
    const accepted = transactions.map(({ record }) => record)
    for (const transaction of transactions) {
      this.#options.outbox.remove(transaction)
      this.#shown.set(transaction.id, transaction.record.sid ?? 0)
      this.#toStore.delete(transaction)
      transaction.dispatch({ type: 'sync' })
    }
    this.#endStored(accepted)
  }

  /**
   * Ends transactions on the disk that the data contains: in the step that stores the data, or once the data is stored,
   * so that a restart shows their changes, too.
   */
  #endStored(records: readonly OutboxRecord[]): void {
    for (const record of records) this.#toEnd.set(record.id, record)
    this.#storing.within(storeMs)
  }

  /** Another database is open, in which the transactions may have other keys. */
  forgetKeys(): void {
    for (const [id, record] of this.#toEnd) this.#toEnd.set(id, { ...record, key: undefined })
  }

  /** The ends of transactions are stored. */
  ended(ends: readonly OutboxEntry[]): void {
    for (const { id } of ends) {
      this.#toEnd.delete(id)
      this.#carried.delete(id)
    }
  }

  /**
   * Tries again to end transactions on the disk. Call when the disk may accept writes again, and when this client
   * begins to lead.
   */
  endAgain(): void {
    if (this.#toEnd.size + this.#toStore.size > 0) void this.#storeNow()
  }

  /**
   * Writes the states and ends of transactions to the disk. A client that does not store the data cannot end them, and
   * marks those that the data contains as `seen`. If the write fails, the next start sends them again, and receives the
   * same results.
   */
  async #storeNow(): Promise<void> {
    const { disk, log, follows } = this.#options
    this.#storing.clear()
    // The leader receives the same data, and ends the transactions.
    if (follows()) return
    const canEnd = await disk.stored().then(
      () => disk.leads,
      () => false,
    )
    // Every delta recorded before has been stored or has failed: what is left has to be stored again.
    this.#carried.clear()
    const update = [...this.#toStore].map(({ record }) => record)
    this.#toStore.clear()
    const end = canEnd ? [...this.#toEnd.values()].map((record) => endOf(record, 'synced')) : []
    const unseen = canEnd ? [] : [...this.#toEnd.values()].filter(({ seen }) => !seen)
    const seen = unseen.map((record) => ({ ...record, seen: true }))
    if (update.length + seen.length + end.length === 0) return
    await log.change({ update: [...update, ...seen], end }).then(
      () => {
        for (const record of seen) if (this.#toEnd.has(record.id)) this.#toEnd.set(record.id, record)
        this.ended(end)
      },
      () => {},
    )
  }

  /** Waits for the data to reach `sid`. If it has arrived before the result, applies the result now. */
  #awaitEcho(sid: number, accepted?: LocalTransaction): void {
    const data = this.#options.position()
    if (data && sid <= data.confirmed) {
      // If the transaction was made on top of data that reached this position already, it has changed nothing.
      if (accepted && accepted.record.since >= sid && accepted.record.since <= data.confirmed)
        accepted.note([])
      const removed = this.#ownFrames.areRows ? this.removedAt(data.confirmed, 0) : []
      if (removed.length > 0) this.#options.listener.removed(removed)
      else this.change([], data.confirmed, 0)
    }
    this.awaitData()
  }

  /** Stores the current state of `transaction`, unless the data that contains it is stored soon. */
  #store(transaction: LocalTransaction): void {
    if (!transaction.isStored) return
    this.#toStore.add(transaction)
    this.#storing.within(storeMs)
  }
}

function removalOf(record: Pick<DeltaFrame, 't' | 'id'>, sid: number): DeltaFrame {
  return { t: record.t, id: record.id, op: 'd', sid }
}

/** The maximum number of tries of an undo or a redo that conflicts with changes of others. */
const maxTries = 3

/** Whether a refused transaction is an undo or a redo of records that somebody else has changed, and is made again. */
export function isOvertaken({ record }: LocalTransaction, { reason }: RejectedError): boolean {
  const isConflict = reason === 'conflict' || reason === 'not_found' || reason === 'exists'
  return record.isUndo === true && isConflict && (record.replaces?.length ?? 0) < maxTries - 1
}

function endsOf(records: Iterable<OutboxRecord>): readonly OutboxEnd[] {
  return [...records].flatMap((record) =>
    record.key === undefined || record.key.includes('/') ? [] : endOf(record, 'synced'),
  )
}
