import { refuseUnknown } from '../base/check-options.ts'
import type { Clock } from '../base/environment.ts'
import type { ErrorReporter } from '../base/error-reporter.ts'
import { ClosedError, ConfigurationError, type SyncError, toStorageError } from '../base/errors.ts'
import type { Ids } from '../base/ids.ts'
import type { Models } from '../models/models.ts'
import type { OutboxChange, OutboxRecord } from '../persistence/outbox.ts'
import type { RowSource } from '../protocol/fold.ts'
import type { Replica } from '../records/replica.ts'
import type { DataPosition } from './data-position.ts'
import { type Draft, draft, type Mutator } from './draft.ts'
import { doAgain, type Effect, effectsOf, takeBack } from './inverse.ts'
import { newRecord } from './new-record.ts'
import type { OptimisticUpdates } from './optimistic-updates.ts'
import { isSent, isUnsent, type Outbox } from './outbox.ts'
import type { OutboxLog } from './outbox-log.ts'
import type { Rollback, RollbackListener } from './rollback.ts'
import {
  LocalTransaction,
  type TouchedRecord,
  type Transaction,
  type TransactionHost,
} from './transaction.ts'
import type { UndoEntry, UndoHost } from './undo-stack.ts'
import type { MutateOptions } from './writer.ts'

export interface TransactionMakerOptions {
  readonly clock: Clock
  readonly ids: Ids
  readonly outbox: Outbox
  readonly optimisticUpdates: OptimisticUpdates
  readonly log: OutboxLog
  readonly replica: Replica
  /** The rows as they are shown. Throws where they are not loaded. */
  readonly rows: RowSource
  readonly models: Models
  /** Where the data is; `undefined` until there is some. */
  readonly position: () => DataPosition | undefined
  readonly isClosed: () => boolean
  readonly rollback: Rollback
  /** Whether what is queued is sent now, or may be once the server has first answered. */
  readonly canSend: () => boolean
  readonly reporter: Pick<ErrorReporter, 'error'>
  readonly onListenerError: (error: unknown) => void
  readonly listener: Pick<RollbackListener, 'counted' | 'queued'>
}

type AddOptions = MutateOptions & Pick<OutboxRecord, 'replaces' | 'isUndo'>

/** Makes the user's transactions: in the outbox, in what is shown, and on disk. */
export class TransactionMaker implements TransactionHost, UndoHost {
  readonly #options: TransactionMakerOptions
  /** What each takes the place of that is not stored yet, or never was. */
  readonly #replaced = new WeakMap<LocalTransaction, readonly LocalTransaction[]>()
  /** What each was joined with that stands in its place, whether that is stored or not. */
  readonly #joined = new WeakMap<Transaction, LocalTransaction>()
  /** What each was made anew as. */
  readonly #anew = new WeakMap<Transaction, LocalTransaction>()
  /** What each undo takes back. */
  readonly #undone = new WeakMap<Transaction, LocalTransaction>()
  #drafting = false

  constructor(options: TransactionMakerOptions) {
    this.#options = options
  }

  /** Runs `body`, shows what it wrote, and stores it. Throws what `body` throws, and nothing has changed then. */
  mutate(body: (mutator: Mutator) => unknown, options: MutateOptions): LocalTransaction {
    const { requires, coalesce, label, group } = options
    refuseUnknown(options, { requires, coalesce, label, group }, 'mutate.')
    return this.#add(this.#draft(body), options)
  }

  /** Throws what doing again all that was undone, in this order, would throw. */
  rehearse(undone: readonly UndoEntry[]): void {
    this.#draft((m) => {
      for (const { transaction, inverse } of undone) {
        if (transaction.state === 'cancelled') doAgain(this.#effectsOf(transaction), m)
        else if (inverse) takeBack(this.#effectsOf(inverse), m)
      }
    })
  }

  /** Does anew what a cancelled transaction was to do. */
  again(cancelled: LocalTransaction): LocalTransaction {
    const made = this.#draft((m) => doAgain(this.#effectsOf(cancelled), m))
    const { coalesce: _, ...options } = this.#optionsOf(cancelled.record)
    return this.#add(made, { ...options, isUndo: true }, cancelled)
  }

  /**
   * Writes what `body` does in place of a rejected transaction, which leaves the outbox in the same step. `isAgain`: it is the
   * same once more.
   */
  replace(old: LocalTransaction, body: (mutator: Mutator) => unknown, isAgain: boolean): LocalTransaction {
    const isUndo = isAgain && old.record.isUndo
    const transaction = this.#add(this.#draft(body), { ...this.#optionsOf(old.record), isUndo }, old)
    const undone = this.#undone.get(old)
    if (undone) this.#undone.set(transaction, undone)
    return transaction
  }

  async undo(transaction: LocalTransaction): Promise<LocalTransaction | undefined> {
    this.refuseClosed()
    if (isUnsent(transaction)) await this.#options.rollback.cancel(transaction)
    if (!isSent(transaction)) return undefined
    const { label, group } = transaction.record
    const made = this.#draft((m) => takeBack(this.#effectsOf(transaction), m))
    if (made.ops.length === 0) return undefined
    const inverse = this.#add(made, { label, group, requires: [transaction], isUndo: true })
    this.#undone.set(inverse, transaction)
    return inverse
  }

  /** Makes an undo or a redo once more, right before it is first sent: without what somebody else has changed since. */
  review(transaction: LocalTransaction): void {
    const { optimisticUpdates, log, rollback, replica, models, ids } = this.#options
    const { id: tx, record } = transaction
    if (!record.isUndo || !record.ops.every(({ t }) => replica.isReady(t))) return
    const rows: RowSource = { of: (t) => ({ get: (id) => replica.below(tx, t, id) }) }
    const position = this.#position()
    const { ops } = draft(this.undoing(transaction), { rows, models, newId: () => ids.next(), ...position })
    if (ops.length > 0) optimisticUpdates.amend(transaction, { ops, ...position })
    else {
      rollback.withdraw(transaction)
      log.change({ cancel: [tx] }).catch(() => {})
    }
  }

  /** Whether it takes back what does not stand itself. */
  isGroundless(transaction: LocalTransaction): boolean {
    const state = this.#undone.get(transaction)?.state
    return state === 'rejected' || state === 'discarded'
  }

  /** What an undo or a redo writes, as far as nobody else has changed it. */
  undoing(transaction: LocalTransaction): (m: Mutator) => void {
    const undone = this.#undone.get(transaction)
    return (m) => (undone ? takeBack(this.#effectsOf(undone), m) : doAgain(effectsOf(transaction.record), m))
  }

  /** As the data has shown them, or as they lie over the data now. */
  #effectsOf(transaction: LocalTransaction): readonly Effect[] {
    return transaction.effects ?? this.#options.optimisticUpdates.effectsOf(transaction)
  }

  records(record: OutboxRecord): readonly TouchedRecord[] {
    const { replica } = this.#options
    return effectsOf(record).map(({ t, id, base, mine }) => ({
      type: t,
      id,
      base,
      mine,
      theirs: replica.confirmed(t, id)?.p,
    }))
  }

  changed(): void {
    this.#options.outbox.tell()
  }

  get onListenerError(): (error: unknown) => void {
    return this.#options.onListenerError
  }

  /** Those of one that is made anew. It requires what it did, or what was tried anew in place of that, as far as that is pending. */
  #optionsOf(old: OutboxRecord): AddOptions {
    const { label, group, coalesce, requires } = old
    const pending = this.#options.outbox
      .list()
      .filter(
        ({ state, record }) => state !== 'rejected' && lineOf(record).some((id) => requires.includes(id)),
      )
    return { label, group, coalesce, requires: pending, replaces: lineOf(old) }
  }

  #draft(body: (mutator: Mutator) => unknown): Draft {
    this.refuseClosed()
    if (this.#drafting) {
      const message = 'A transaction is begun inside the function of another; write all with its `m`.'
      throw new ConfigurationError('mutate', message)
    }
    const { rows, models, ids } = this.#options
    this.#drafting = true
    try {
      return draft(body, { rows, models, newId: () => ids.next(), ...this.#position() })
    } finally {
      this.#drafting = false
    }
  }

  #position(): Pick<OutboxRecord, 'since' | 'epoch'> {
    const { confirmed: since = 0, epoch } = this.#options.position() ?? {}
    return { since, epoch }
  }

  /**
   * `old` is what it does anew; one that was rejected leaves the outbox in the same step. What hears of it, and may write
   * itself, hears when all is in its place.
   */
  #add(made: Draft, options: AddOptions, old?: LocalTransaction): LocalTransaction {
    const { clock, ids, outbox, optimisticUpdates, models, listener } = this.#options
    const isEmpty = made.ops.length === 0
    const instead = old?.state === 'cancelled' ? undefined : old
    const where = this.#position()
    const joined = isEmpty ? undefined : outbox.joinable(options.coalesce, where.epoch, made.ops)
    const replaces = [...(joined?.record.replaces ?? []), ...(options.replaces ?? [])]
    const record = newRecord(made, {
      ...options,
      outbox,
      id: ids.next(),
      at: clock.now(),
      ...where,
      version: models.version,
      retryOf: instead?.id,
      ...(replaces.length > 0 && { replaces }),
      joined: joined?.record,
      successorOf: (one) => this.#joined.get(one) ?? this.#anew.get(one),
    })
    const transaction = new LocalTransaction(
      record,
      isEmpty ? { name: 'synced', sid: record.since } : { name: 'writing' },
      this,
    )
    const replaced = [joined, instead].flatMap((one) => one ?? [])
    if (replaced.length > 0) this.#replaced.set(transaction, replaced)
    if (joined) this.#joined.set(joined, transaction)
    if (old && !isEmpty) this.#anew.set(old, transaction)
    if (!isEmpty || instead) void this.#store(transaction)
    optimisticUpdates.exchange(replaced, isEmpty ? [] : [transaction])
    joined?.dispatch({ type: 'cancel' })
    instead?.dispatch({ type: 'discard' })
    listener.counted()
    return transaction
  }

  async #store(transaction: LocalTransaction): Promise<void> {
    const { log, rollback, listener } = this.#options
    const { record, state } = transaction
    // As it is by then: it may go on top of another.
    const put = () => (state === 'writing' ? [transaction.record] : [])
    try {
      if (this.#replaced.has(transaction)) {
        const others = await log.change(() => ({
          put: put(),
          by: transaction.id,
          ...this.#leave(transaction),
        }))
        const theirs = this.#leaving(transaction).filter(({ id }) => others.includes(id))
        if (theirs.some(({ state }) => state === 'discarded')) return this.#giveWay(transaction, theirs)
        if (others.length > 0) await this.#goOnTopOf(transaction, others)
      } else await log.put(record)
    } catch (thrown) {
      const error = toStorageError(thrown)
      if (this.#isSentUnstored(transaction, error)) await this.#sendUnstored(transaction, error)
      else rollback.lose(transaction, error, this.#standingBut(transaction))
      return
    }
    this.#replaced.delete(transaction)
    if (transaction.dispatch({ type: 'stored' })) listener.queued()
  }

  /**
   * Whether it is sent from memory, since the store did not take it. What takes the place of a rejected transaction is not:
   * the rejected one stays on the disk, and the user decides again.
   */
  #isSentUnstored(transaction: LocalTransaction, error: SyncError): boolean {
    const isRetry = this.#leaving(transaction).some(({ state }) => state === 'discarded')
    return !isRetry && this.#options.canSend() && transaction.dispatch({ type: 'unstored', error })
  }

  async #sendUnstored(transaction: LocalTransaction, error: SyncError): Promise<void> {
    const { reporter, listener } = this.#options
    reporter.error(error)
    // What it was joined with is still on the disk, from where a restart would send it: it is sent first.
    const stored = this.#leaving(transaction).filter(({ isStored }) => isStored)
    const ids = stored.map(({ id }) => id)
    if (ids.length > 0) await this.#goOnTopOf(transaction, ids).catch(() => {})
    this.#replaced.delete(transaction)
    listener.queued()
  }

  /** How what it takes the place of leaves the disk. */
  #leave(transaction: LocalTransaction): Pick<OutboxChange, 'cancel' | 'discard'> {
    const leaving = this.#leaving(transaction)
    const idsOf = (joined: boolean) =>
      leaving.filter(({ state }) => (state === 'cancelled') === joined).map(({ id }) => id)
    return { cancel: idsOf(true), discard: idsOf(false) }
  }

  /** Another client of the same data may have sent what it was joined with: that stands, and this writes all once more. */
  async #goOnTopOf(transaction: LocalTransaction, sent: readonly string[]): Promise<void> {
    const { log, outbox, rollback } = this.#options
    // So do those that it was joined with meanwhile.
    for (let one: LocalTransaction | undefined = transaction; one; one = this.#joined.get(one)) {
      const { ops, bases, requires } = one.record
      one.amend({
        ops: ops.map((op) => (op.op === 'i' ? { ...op, put: true } : op)),
        bases: [...sent, ...bases],
        requires: [...sent, ...requires],
      })
    }
    rollback.standSent(this.#leaving(transaction).filter(({ id }) => sent.includes(id)))
    // In whose place another stands, or nothing, is about to leave the disk.
    if (outbox.get(transaction.id) === transaction) await log.put(transaction.record)
  }

  /** Another client of the same data has discarded some of what it takes the place of, or tried it anew: that stands. */
  #giveWay(transaction: LocalTransaction, gone: readonly LocalTransaction[]): void {
    const rest = this.#leaving(transaction).filter((one) => !gone.includes(one))
    // What it was joined with meanwhile takes the place of these, too.
    const joined = this.#joined.get(transaction)
    if (joined) this.#replaced.set(joined, [...rest, ...(this.#replaced.get(joined) ?? [])])
    this.#options.rollback.withdraw(transaction, joined ? [] : rest)
  }

  /** What leaves the disk for it: also what was to leave for one that was lost. */
  #leaving(transaction: LocalTransaction): readonly LocalTransaction[] {
    const replaced = this.#replaced.get(transaction) ?? []
    return replaced.flatMap((one) => (one.state === 'failed' ? [one, ...this.#leaving(one)] : [one]))
  }

  /** What stands again where `transaction` cannot be stored. */
  #standingBut(transaction: LocalTransaction): readonly LocalTransaction[] {
    // What it was joined with takes their place, too, and may be stored yet.
    if (this.#joined.has(transaction)) return []
    return this.#leaving(transaction).filter(({ state }) => state !== 'failed')
  }

  /** Throws a ClosedError where the client is closed. */
  refuseClosed(): void {
    if (this.#options.isClosed()) throw new ClosedError()
  }
}

/** The ids of all that it makes anew, and its own. */
function lineOf({ id, replaces = [] }: OutboxRecord): readonly string[] {
  return [...replaces, id]
}
