import { refuseUnknown } from '../base/check-options.ts'
import type { Commit } from '../base/commit.ts'
import type { Clock } from '../base/environment.ts'
import type { ErrorReporter } from '../base/error-reporter.ts'
import { type ClosedError, ConfigurationError, toStorageError } from '../base/errors.ts'
import type { Ids } from '../base/ids.ts'
import type { Logger } from '../base/logger.ts'
import type { Models } from '../models/models.ts'
import type { CallerCheck } from '../network/caller-check.ts'
import { endOf, type OutboxRecord } from '../persistence/outbox.ts'
import { over, type RowSource } from '../protocol/fold.ts'
import { maxOps } from '../protocol/tx.ts'
import type { Replica } from '../records/replica.ts'
import type { DataPosition } from './data-position.ts'
import { type Draft, draft, type Mutator } from './draft.ts'
import { type Effect, effectsOf, imagesIn, inverseOf, leftOn, reversed, withoutWas } from './inverse.ts'
import { joinRecords } from './join.ts'
import { linksOf } from './links.ts'
import type { OptimisticUpdates } from './optimistic-updates.ts'
import { isSent, isUnsent, type Outbox } from './outbox.ts'
import type { OutboxLog } from './outbox-log.ts'
import type { Rollback, RollbackListener } from './rollback.ts'
import { LocalTransaction, type TouchedRecord, type TransactionHost } from './transaction.ts'
import type { UndoHost } from './undo-stack.ts'
import type { MutateOptions } from './writer.ts'

export interface TransactionMakerOptions {
  readonly clock: Clock
  readonly commit: Commit
  readonly logger: Pick<Logger, 'debug'>
  readonly ids: Ids
  readonly outbox: Outbox
  readonly optimisticUpdates: OptimisticUpdates
  readonly log: OutboxLog
  readonly replica: Replica
  /** The rows with all optimistic updates. Throws for types that are not loaded. */
  readonly rows: RowSource
  readonly models: Models
  readonly callerCheck: CallerCheck
  /** The position of the local data; `undefined` until there is data. */
  readonly position: () => DataPosition | undefined
  readonly ended: () => ClosedError | undefined
  readonly rollback: Rollback
  readonly reporter: Pick<ErrorReporter, 'error'>
  readonly onListenerError: (error: unknown) => void
  readonly listener: Pick<RollbackListener, 'queued'>
}

type AddOptions = MutateOptions &
  Pick<OutboxRecord, 'replaces' | 'isUndo'> &
  Partial<Pick<LocalTransaction, 'undoes'>>

type Position = Pick<OutboxRecord, 'since' | 'epoch'>

/** Makes the user's transactions: adds them to the outbox, shows them, and stores them. */
export class TransactionMaker implements TransactionHost, UndoHost {
  readonly #options: TransactionMakerOptions
  /** The last transaction, until its write to the disk begins. */
  #unwritten: LocalTransaction | undefined
  #drafting = false

  constructor(options: TransactionMakerOptions) {
    this.#options = options
  }

  /** Runs `body`, shows its writes, and starts storing them. Throws the error of `body`; nothing has changed then. */
  mutate(body: (mutator: Mutator) => unknown, options: MutateOptions): LocalTransaction {
    const { requires, coalesce, label, group } = options
    refuseUnknown(options, { requires, coalesce, label, group }, 'mutate.')
    return this.#add(this.draft(body), options)
  }

  /** Writes a cancelled transaction again, as a new one. */
  again(cancelled: LocalTransaction): LocalTransaction {
    this.refuseClosed()
    const { rows } = this.#options
    const written = leftOn(inverseOf(reversed(this.#effectsOf(cancelled))), rows)
    return this.#add(written, { ...this.#optionsOf(cancelled.record), isUndo: true }, cancelled)
  }

  /**
   * Replaces the rejected transaction `old`, which leaves the outbox in the same step, by a transaction that writes
   * `written`.
   */
  replace(old: LocalTransaction, written: Draft, isUndo?: boolean): LocalTransaction {
    const undoes = isUndo ? this.#undoneBy(old) : undefined
    const transaction = this.#add(written, { ...this.#optionsOf(old.record), isUndo, undoes }, old)
    transaction.isForgotten = old.rejection?.reason === 'not_found'
    return transaction
  }

  undo(transaction: LocalTransaction): Promise<LocalTransaction | undefined | false> {
    const undone = this.#undo(transaction)
    this.#options.commit.now()
    return undone
  }

  async #undo(transaction: LocalTransaction): Promise<LocalTransaction | undefined | false> {
    this.refuseClosed()
    if (isUnsent(transaction)) await this.#options.rollback.cancel(transaction)
    if (!isSent(transaction)) return transaction.state === 'cancelled' ? undefined : false
    const { label, group } = transaction.record
    const { rows } = this.#options
    const written = leftOn(inverseOf(this.#effectsOf(transaction)), rows)
    if (written.ops.length === 0) return false
    return this.#add(written, { label, group, requires: [transaction], isUndo: true, undoes: transaction })
  }

  /**
   * Brings the ops of an undo or a redo up to date, right before it is first sent. Cancels the transaction if nothing is
   * left. `features`: the extensions that the server supports.
   */
  review(transaction: LocalTransaction, features: readonly string[]): void {
    const { optimisticUpdates, outbox, log, rollback, replica } = this.#options
    const { id: tx, record } = transaction
    if (!record.isUndo || !record.ops.every(({ t }) => replica.isReady(t))) return
    let rows: RowSource = { of: (t) => ({ get: (id) => replica.below(tx, t, id) }) }
    let made: Draft & Position = { ...this.undoAgain(transaction, rows), ...this.#position() }
    // Another tab has made it, or this one before a restart. If the data is older than what it was made on, or hides who
    // removed a record, the server decides, by what was known then.
    const mayKnowLess = made.since < record.since || record.ops.some(({ op }) => op === 'i')
    if (made.ops.length < record.ops.length && !transaction.undoes && mayKnowLess) {
      made = record
      rows = over(imagesIn(record), rows)
    }
    const isKnown = features.includes('restores') && !transaction.isForgotten
    const restores = isKnown ? (this.#undoneBy(transaction)?.id ?? record.undoes) : undefined
    const ops = made.ops.map((op) => (op.op === 'i' && op.was === null ? { ...op, restores } : op))
    if (outbox.idle.includes(record.undoes) || ops.length === 0) {
      rollback.withdraw(transaction)
      log.change({ end: [endOf(record, 'cancelled')] }).catch(() => {})
      return
    }
    const sent = features.includes('was') ? undefined : withoutWas(ops, rows, made.since)
    optimisticUpdates.amend(transaction, { ...made, ops, sent, bases: outbox.basesOf(sent ?? []) })
  }

  /** Whether `transaction` undoes a rejected transaction, so that there is nothing to undo. */
  undoesRejected(transaction: LocalTransaction): boolean {
    const state = this.#undoneBy(transaction)?.state
    return state === 'rejected' || state === 'discarded'
  }

  /** The transaction that `transaction` undoes, or the last one that replaced it. */
  #undoneBy({ undoes }: LocalTransaction): LocalTransaction | undefined {
    let undone = undoes
    while (undone?.rewrittenAs) undone = undone.rewrittenAs
    return undone
  }

  /** The writes of the undo or redo `transaction`, computed for the records in `rows`. */
  undoAgain(transaction: LocalTransaction, rows: RowSource = this.#options.rows): Draft {
    const undone = this.#undoneBy(transaction)
    return leftOn(undone ? inverseOf(this.#effectsOf(undone)) : transaction.record.ops, rows)
  }

  /** The saved effects of `transaction`; if none are saved, the effects of its optimistic updates. */
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

  changed(transaction?: LocalTransaction): void {
    if (transaction) this.#options.logger.debug(`transaction: ${transaction.state}`, { id: transaction.id })
    this.#options.outbox.touch(transaction)
  }

  get onListenerError(): (error: unknown) => void {
    return this.#options.onListenerError
  }

  /**
   * The options for writing `old` again. The new transaction requires the pending ones that `old` required, or their
   * replacements.
   */
  #optionsOf(old: OutboxRecord): AddOptions {
    const { label, group, requires } = old
    const pending = this.#options.outbox
      .list()
      .filter(
        ({ state, record }) => state !== 'rejected' && idsOf(record).some((id) => requires.includes(id)),
      )
    return { label, group, requires: pending, replaces: idsOf(old) }
  }

  /** Runs `body` and returns its writes. Throws the error of `body`. */
  draft(body: (mutator: Mutator) => unknown): Draft {
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

  #position(): Position {
    const { confirmed: since = 0, epoch } = this.#options.position() ?? {}
    return { since, epoch }
  }

  /**
   * Adds a transaction that writes `written`, or adds these writes to the newest transaction. `old`: the transaction to
   * write again. If `old` was rejected, it leaves the outbox in the same step.
   */
  #add(written: Draft, options: AddOptions, old?: LocalTransaction): LocalTransaction {
    const { clock, ids, outbox, optimisticUpdates, models } = this.#options
    const { requires = [], undoes, ...rest } = options
    const links = linksOf(written.ops, outbox, requires)
    const isEmpty = written.ops.length === 0
    const joined = isEmpty || old ? undefined : this.#join({ ...written, ...links }, options)
    if (joined) return joined
    const rejected = old?.state === 'cancelled' ? undefined : old
    const record: OutboxRecord = {
      ...rest,
      ...written,
      ...links,
      id: ids.next(),
      state: 'queued',
      at: clock.now(),
      ...this.#position(),
      version: models.version,
      caller: this.#options.callerCheck.caller,
      retryOf: rejected?.id,
      undoes: undoes?.id ?? (rest.isUndo ? old?.record.undoes : undefined),
    }
    const transaction = new LocalTransaction(
      record,
      isEmpty ? { name: 'synced', sid: record.since } : { name: 'writing' },
      this,
    )
    transaction.undoes = undoes
    if (old && !isEmpty) old.rewrittenAs = transaction
    if (!isEmpty) this.#unwritten = rejected ? undefined : transaction
    if (!isEmpty || rejected) void this.#store(transaction, rejected)
    optimisticUpdates.exchange(rejected ? [rejected] : [], isEmpty ? [] : [transaction])
    rejected?.dispatch({ type: 'discard' })
    return transaction
  }

  /** Adds writes to the newest transaction, if its write to the disk has not begun and `options` are the same. */
  #join(written: Parameters<typeof joinRecords>[1], options: AddOptions): LocalTransaction | undefined {
    const { optimisticUpdates } = this.#options
    const { coalesce, group, label, isUndo } = options
    const last = this.#unwritten
    if (coalesce === undefined || isUndo || last?.state !== 'writing') return undefined
    const { record } = last
    const { epoch } = this.#position()
    const isSame = record.coalesce === coalesce && record.group === group && record.label === label
    if (!isSame || (record.epoch ?? epoch) !== epoch) return undefined
    const joined = joinRecords(last.id, record, written)
    if (joined.ops.length > maxOps) return undefined
    optimisticUpdates.amend(last, joined)
    return last
  }

  async #store(transaction: LocalTransaction, rejected: LocalTransaction | undefined): Promise<void> {
    const { outbox, rollback, reporter, listener } = this.#options
    try {
      if (!(await this.#put(transaction, rejected))) return rollback.withdraw(transaction)
      if (!transaction.dispatch({ type: 'stored' })) return
    } catch (thrown) {
      const error = toStorageError(thrown)
      if (transaction.state === 'cancelled' && !rejected) return
      // If it replaces a rejected one, that one stays on the disk, and the user decides again.
      if (rejected || error.code === 'signed_out' || !transaction.dispatch({ type: 'unstored', error }))
        return rollback.fail(transaction, error, rejected)
      // With this key, the transaction stays before transactions that are stored later.
      const { last } = outbox
      if (last) transaction.amend({ key: `${last}/${transaction.id}` })
      reporter.error(error)
    }
    listener.queued()
  }

  /**
   * Writes a transaction to the disk, in place of the `rejected` one that it replaces. Resolves with `false` if another
   * client of the same data has discarded or retried that one.
   */
  async #put(transaction: LocalTransaction, rejected: LocalTransaction | undefined): Promise<boolean> {
    const { log, outbox, optimisticUpdates } = this.#options
    const { id, record, state } = transaction
    const written = await (rejected
      ? log.change({
          put: state === 'writing' ? [record] : [],
          end: [endOf(rejected.record, 'discarded', id)],
        })
      : log.put(() => {
          // From here on, other clients may read the transaction: add no more writes to it.
          if (this.#unwritten === transaction) this.#unwritten = undefined
          return transaction.record
        }))
    optimisticUpdates.place([transaction], written)
    // An earlier try had stored it, and another tab has ended it since: read that before it is sent.
    if (written.refused.has(id)) outbox.mayDiffer = true
    return !rejected || !written.refused.has(rejected.id)
  }

  /** Throws a ClosedError if the client has ended. */
  refuseClosed(): void {
    const error = this.#options.ended()
    if (error) throw error
  }
}

/** The id of a transaction and the ids of all transactions that it replaces. */
function idsOf({ id, replaces = [] }: OutboxRecord): readonly string[] {
  return [...replaces, id]
}
