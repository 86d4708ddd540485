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
  /** The rows with all optimistic updates. Throws for types that are not loaded. */
  readonly rows: RowSource
  readonly models: Models
  /** The position of the local data; `undefined` until there is data. */
  readonly position: () => DataPosition | undefined
  readonly isClosed: () => boolean
  readonly rollback: Rollback
  /** Whether queued transactions can be sent now, or once the server has first responded. */
  readonly canSend: () => boolean
  readonly reporter: Pick<ErrorReporter, 'error'>
  readonly onListenerError: (error: unknown) => void
  readonly listener: Pick<RollbackListener, 'countsChanged' | 'queued'>
}

type AddOptions = MutateOptions & Pick<OutboxRecord, 'replaces' | 'isUndo'>

/** Makes the user's transactions: adds them to the outbox, shows them, and stores them. */
export class TransactionMaker implements TransactionHost, UndoHost {
  readonly #options: TransactionMakerOptions
  /** The transactions that each unstored transaction replaces. */
  readonly #replaced = new WeakMap<LocalTransaction, readonly LocalTransaction[]>()
  /** The joined transaction that replaced each transaction, stored or not. */
  readonly #joinedInto = new WeakMap<Transaction, LocalTransaction>()
  /** The transaction that each rejected or undone one was written again as. */
  readonly #rewrittenAs = new WeakMap<Transaction, LocalTransaction>()
  /** The transaction that each undo takes back. */
  readonly #undoOf = new WeakMap<Transaction, LocalTransaction>()
  #drafting = false

  constructor(options: TransactionMakerOptions) {
    this.#options = options
  }

  /** Runs `body`, shows its writes, and starts storing them. Throws what `body` throws; nothing has changed then. */
  mutate(body: (mutator: Mutator) => unknown, options: MutateOptions): LocalTransaction {
    const { requires, coalesce, label, group } = options
    refuseUnknown(options, { requires, coalesce, label, group }, 'mutate.')
    return this.#add(this.#draft(body), options)
  }

  /** Throws what redoing `undone`, in this order, would throw. Changes nothing. */
  rehearse(undone: readonly UndoEntry[]): void {
    this.#draft((m) => {
      for (const { transaction, inverse } of undone) {
        if (transaction.state === 'cancelled') doAgain(this.#effectsOf(transaction), m)
        else if (inverse) takeBack(this.#effectsOf(inverse), m)
      }
    })
  }

  /** Writes a cancelled transaction again, as a new one. */
  again(cancelled: LocalTransaction): LocalTransaction {
    const written = this.#draft((m) => doAgain(this.#effectsOf(cancelled), m))
    const { coalesce: _, ...options } = this.#optionsOf(cancelled.record)
    return this.#add(written, { ...options, isUndo: true }, cancelled)
  }

  /**
   * Writes the ops of `body` in place of a rejected transaction, which leaves the outbox in the same step. `isAgain`:
   * the ops are those of the rejected transaction.
   */
  replace(old: LocalTransaction, body: (mutator: Mutator) => unknown, isAgain: boolean): LocalTransaction {
    const isUndo = isAgain && old.record.isUndo
    const transaction = this.#add(this.#draft(body), { ...this.#optionsOf(old.record), isUndo }, old)
    const undone = this.#undoOf.get(old)
    if (undone) this.#undoOf.set(transaction, undone)
    return transaction
  }

  async undo(transaction: LocalTransaction): Promise<LocalTransaction | undefined> {
    this.refuseClosed()
    if (isUnsent(transaction)) await this.#options.rollback.cancel(transaction)
    if (!isSent(transaction)) return undefined
    const { label, group } = transaction.record
    const written = this.#draft((m) => takeBack(this.#effectsOf(transaction), m))
    if (written.ops.length === 0) return undefined
    const inverse = this.#add(written, { label, group, requires: [transaction], isUndo: true })
    this.#undoOf.set(inverse, transaction)
    return inverse
  }

  /**
   * Makes the ops of an undo or a redo again, right before it is first sent: without records that somebody else has
   * changed since. Cancels the transaction if nothing is left.
   */
  review(transaction: LocalTransaction): void {
    const { optimisticUpdates, log, rollback, replica, models, ids } = this.#options
    const { id: tx, record } = transaction
    if (!record.isUndo || !record.ops.every(({ t }) => replica.isReady(t))) return
    const rows: RowSource = { of: (t) => ({ get: (id) => replica.below(tx, t, id) }) }
    const position = this.#position()
    const { ops } = draft(this.undoBodyOf(transaction), {
      rows,
      models,
      newId: () => ids.next(),
      ...position,
    })
    if (ops.length > 0) optimisticUpdates.amend(transaction, { ops, ...position })
    else {
      rollback.withdraw(transaction)
      log.change({ cancel: [tx] }).catch(() => {})
    }
  }

  /** Whether `transaction` undoes one that was rejected, so that there is nothing to undo. */
  undoesRejected(transaction: LocalTransaction): boolean {
    const state = this.#undoneBy(transaction)?.state
    return state === 'rejected' || state === 'discarded'
  }

  /** Whether `transaction` undoes one that was rejected and then written again, so that it is to undo the new one. */
  undoesRewritten(transaction: LocalTransaction): boolean {
    return this.#undoneBy(transaction) !== this.#undoOf.get(transaction)
  }

  /** The transaction that `transaction` undoes, or the last one that replaced it. */
  #undoneBy(transaction: LocalTransaction): LocalTransaction | undefined {
    let undone = this.#undoOf.get(transaction)
    for (let next = undone; next; next = this.#rewrittenAs.get(next)) undone = next
    return undone
  }

  /** The function that writes an undo or a redo, without what somebody else has changed. */
  undoBodyOf(transaction: LocalTransaction): (m: Mutator) => void {
    const undone = this.#undoneBy(transaction)
    return (m) => (undone ? takeBack(this.#effectsOf(undone), m) : doAgain(effectsOf(transaction.record), m))
  }

  /** The effects of `transaction`, as the data has shown them or as its optimistic updates are now. */
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
    this.#options.outbox.emitChange()
  }

  get onListenerError(): (error: unknown) => void {
    return this.#options.onListenerError
  }

  /**
   * The options for writing `old` again. The new transaction requires the pending ones that `old` required, or their
   * replacements.
   */
  #optionsOf(old: OutboxRecord): AddOptions {
    const { label, group, coalesce, requires } = old
    const pending = this.#options.outbox
      .list()
      .filter(
        ({ state, record }) => state !== 'rejected' && idsOf(record).some((id) => requires.includes(id)),
      )
    return { label, group, coalesce, requires: pending, replaces: idsOf(old) }
  }

  #draft(body: (mutator: Mutator) => unknown): Draft {
    this.refuseClosed()
    if (this.#drafting) {
      const message = '`mutate` was called inside another `mutate`. Use the `m` you were given.'
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
   * Adds a transaction with `written`. `old`: the transaction that it writes again; a rejected one leaves the outbox in
   * the same step. Listeners may write themselves, so call them last, when everything is in its place.
   */
  #add(written: Draft, options: AddOptions, old?: LocalTransaction): LocalTransaction {
    const { clock, ids, outbox, optimisticUpdates, models, listener } = this.#options
    const isEmpty = written.ops.length === 0
    const rejected = old?.state === 'cancelled' ? undefined : old
    const position = this.#position()
    const joined = isEmpty ? undefined : outbox.joinable(options.coalesce, position.epoch, written.ops)
    const replaces = [...(joined?.record.replaces ?? []), ...(options.replaces ?? [])]
    const record = newRecord(written, {
      ...options,
      outbox,
      id: ids.next(),
      at: clock.now(),
      ...position,
      version: models.version,
      retryOf: rejected?.id,
      ...(replaces.length > 0 && { replaces }),
      joined: joined?.record,
      successorOf: (one) => this.#joinedInto.get(one) ?? this.#rewrittenAs.get(one),
    })
    const transaction = new LocalTransaction(
      record,
      isEmpty ? { name: 'synced', sid: record.since } : { name: 'writing' },
      this,
    )
    const replaced = [joined, rejected].flatMap((one) => one ?? [])
    if (replaced.length > 0) this.#replaced.set(transaction, replaced)
    if (joined) this.#joinedInto.set(joined, transaction)
    if (old && !isEmpty) this.#rewrittenAs.set(old, transaction)
    if (!isEmpty || rejected) void this.#store(transaction)
    optimisticUpdates.exchange(replaced, isEmpty ? [] : [transaction])
    joined?.dispatch({ type: 'cancel' })
    rejected?.dispatch({ type: 'discard' })
    listener.countsChanged()
    return transaction
  }

  async #store(transaction: LocalTransaction): Promise<void> {
    const { log, rollback, listener } = this.#options
    const { record, state } = transaction
    // Read the record when its turn comes: it may have been amended to follow another transaction.
    const put = () => (state === 'writing' ? [transaction.record] : [])
    try {
      if (this.#replaced.has(transaction)) {
        const notRemoved = await log.change(() => ({
          put: put(),
          by: transaction.id,
          ...this.#removals(transaction),
        }))
        const taken = this.#replacedBy(transaction).filter(({ id }) => notRemoved.includes(id))
        if (taken.some(({ state }) => state === 'discarded')) return this.#giveWay(transaction, taken)
        if (notRemoved.length > 0) await this.#putAfter(transaction, notRemoved)
      } else await log.put(record)
    } catch (thrown) {
      const error = toStorageError(thrown)
      if (this.#isSentUnstored(transaction, error)) await this.#sendUnstored(transaction, error)
      else rollback.fail(transaction, error, this.#toRestore(transaction))
      return
    }
    this.#replaced.delete(transaction)
    if (transaction.dispatch({ type: 'stored' })) listener.queued()
  }

  /**
   * Whether to send the transaction from memory because the store did not accept it. A replacement of a rejected
   * transaction is not sent: the rejected one stays on the disk, and the user decides again.
   */
  #isSentUnstored(transaction: LocalTransaction, error: SyncError): boolean {
    const isRetry = this.#replacedBy(transaction).some(({ state }) => state === 'discarded')
    return !isRetry && this.#options.canSend() && transaction.dispatch({ type: 'unstored', error })
  }

  async #sendUnstored(transaction: LocalTransaction, error: SyncError): Promise<void> {
    const { reporter, listener } = this.#options
    reporter.error(error)
    // The joined transactions are still on the disk, and a restart would send them. So send them first.
    const stored = this.#replacedBy(transaction).filter(({ isStored }) => isStored)
    const ids = stored.map(({ id }) => id)
    if (ids.length > 0) await this.#putAfter(transaction, ids).catch(() => {})
    this.#replaced.delete(transaction)
    listener.queued()
  }

  /** The removals from the disk of the transactions that `transaction` replaces. */
  #removals(transaction: LocalTransaction): Pick<OutboxChange, 'cancel' | 'discard'> {
    const replaced = this.#replacedBy(transaction)
    const ids = (joined: boolean) =>
      replaced.filter(({ state }) => (state === 'cancelled') === joined).map(({ id }) => id)
    return { cancel: ids(true), discard: ids(false) }
  }

  /**
   * Another client of the same data may have sent transactions that this one was joined with. Keeps those as sent, and
   * makes this one follow them and write everything once more.
   */
  async #putAfter(transaction: LocalTransaction, sent: readonly string[]): Promise<void> {
    const { log, outbox, rollback } = this.#options
    // Transactions that it was joined into in the meantime follow them, too.
    for (let one: LocalTransaction | undefined = transaction; one; one = this.#joinedInto.get(one)) {
      const { ops, bases, requires } = one.record
      one.amend({
        ops: ops.map((op) => (op.op === 'i' ? { ...op, put: true } : op)),
        bases: [...sent, ...bases],
        requires: [...sent, ...requires],
      })
    }
    rollback.keepAsSent(this.#replacedBy(transaction).filter(({ id }) => sent.includes(id)))
    // A transaction that is no longer in the outbox is about to be removed from the disk.
    if (outbox.get(transaction.id) === transaction) await log.put(transaction.record)
  }

  /**
   * Cancels `transaction` because another client of the same data has discarded or retried a transaction that it
   * replaces.
   */
  #giveWay(transaction: LocalTransaction, gone: readonly LocalTransaction[]): void {
    const rest = this.#replacedBy(transaction).filter((one) => !gone.includes(one))
    // The transaction that it was joined into in the meantime replaces the rest, too.
    const joined = this.#joinedInto.get(transaction)
    if (joined) this.#replaced.set(joined, [...rest, ...(this.#replaced.get(joined) ?? [])])
    this.#options.rollback.withdraw(transaction, joined ? [] : rest)
  }

  /** The transactions that `transaction` replaces on the disk, also those that a failed transaction was to replace. */
  #replacedBy(transaction: LocalTransaction): readonly LocalTransaction[] {
    const replaced = this.#replaced.get(transaction) ?? []
    return replaced.flatMap((one) => (one.state === 'failed' ? [one, ...this.#replacedBy(one)] : [one]))
  }

  /** The transactions to restore if `transaction` cannot be stored. */
  #toRestore(transaction: LocalTransaction): readonly LocalTransaction[] {
    // The transaction that it was joined into replaces them, too, and may still be stored.
    if (this.#joinedInto.has(transaction)) return []
    return this.#replacedBy(transaction).filter(({ state }) => state !== 'failed')
  }

  /** Throws a ClosedError if the client is closed. */
  refuseClosed(): void {
    if (this.#options.isClosed()) throw new ClosedError()
  }
}

/** The id of a transaction and the ids of all that it writes again. */
function idsOf({ id, replaces = [] }: OutboxRecord): readonly string[] {
  return [...replaces, id]
}
