import {
  ConfigurationError,
  RejectedError,
  type SyncError,
  toStorageError,
  toSyncError,
} from '../base/errors.ts'
import type { Ids } from '../base/ids.ts'
import type { Clock } from '../base/world.ts'
import type { OutboxRecord, RecordImage } from '../database/outbox.ts'
import type { Models } from '../models/models.ts'
import { type Draft, draft, type Mutator } from '../outbox/draft.ts'
import { effectsOf, takeBack, tryAgain } from '../outbox/inverse.ts'
import { isSent, isUnsent, type Outbox } from '../outbox/outbox.ts'
import type { OutboxLog } from '../outbox/outbox-log.ts'
import {
  LocalTransaction,
  type TouchedRecord,
  type Transaction,
  type TransactionHost,
} from '../outbox/transaction.ts'
import { rowKey } from '../protocol/fold.ts'
import type { Replica } from '../replica/replica.ts'
import type { Merge, MutateOptions } from '../session/writer.ts'
import { pendingOf } from './settlement.ts'

export interface WritesOptions {
  readonly clock: Clock
  readonly ids: Ids
  readonly outbox: Outbox
  readonly log: OutboxLog
  readonly replica: Replica
  readonly models: Models | undefined
  readonly merge: Merge | undefined
  /** The position up to which the data is proven. */
  readonly position: () => number
  readonly listener: WritesListener
  readonly onListenerError: (error: unknown) => void
}

export interface WritesListener {
  /** Calls `apply` to show that transactions are laid over the data, or no longer: those that touch `records`. */
  change(records: readonly { readonly t: string; readonly id: string }[], apply: () => void): void
  /** How many are pending or rejected may be another. */
  counted(): void
  /** There is something to send. */
  queued(): void
  rejected(transaction: Transaction): void
  error(error: SyncError): void
}

interface AddOptions extends MutateOptions {
  readonly retryOf?: string | undefined
  /** Leaves the disk in the same step. */
  readonly instead?: LocalTransaction
}

/** Makes the user's transactions, and takes them back: in what is shown, and on disk. */
export class Writes implements TransactionHost {
  readonly #options: WritesOptions

  constructor(options: WritesOptions) {
    this.#options = options
  }

  /** Runs `body`, shows what it wrote, and stores it. Throws what `body` throws, and nothing has changed then. */
  mutate(body: (mutator: Mutator) => unknown, options: MutateOptions): Transaction {
    return this.#add(this.#draft(body), options)
  }

  /** Does anew what a cancelled transaction was to do. */
  again(transaction: Transaction): Transaction {
    const { record } = transaction as LocalTransaction
    return this.#add(
      this.#draft((m) => tryAgain(record, m)),
      optionsOf(record),
    )
  }

  /** Writes a rejected transaction anew, as `edit` does or as it was; it leaves the outbox in the same step. */
  retry(id: string, edit?: (mutator: Mutator) => unknown): Transaction {
    const old = this.#rejected(id)
    const made = this.#draft(edit ?? ((m) => tryAgain(old.record, m)))
    this.#options.outbox.remove(old)
    old.dispatch({ type: 'discard' })
    return this.#add(made, { ...optionsOf(old.record), retryOf: id, instead: old })
  }

  /** Gives up a rejected transaction. Resolves once it is gone from the disk. */
  async discard(id: string): Promise<void> {
    const { outbox, log, listener } = this.#options
    const transaction = this.#rejected(id)
    outbox.remove(transaction)
    transaction.dispatch({ type: 'discard' })
    listener.counted()
    await log.change({ remove: [id] })
  }

  async undo(transaction: LocalTransaction): Promise<Transaction | undefined> {
    if (isUnsent(transaction)) {
      this.#drop(transaction, { type: 'cancel' })
      const { id } = transaction
      // Where it is not there any more, another client of the same data has sent it.
      if (await this.#options.log.change({ remove: [id], ifQueued: [id] })) return undefined
    } else if (!isSent(transaction)) {
      return undefined
    }
    const { record } = transaction
    const made = this.#draft((m) => takeBack(effectsOf(record), m))
    const { label, group } = record
    return made.ops.length > 0 ? this.#add(made, { label, group, requires: [transaction] }) : undefined
  }

  /** The server, or the lack of what it requires, refuses `transaction`, and so all that require it. */
  reject(transaction: LocalTransaction, error: RejectedError): void {
    const { outbox, log, listener } = this.#options
    const rejected = outbox.reject(transaction, error)
    this.#lift(rejected)
    for (const { record } of rejected) {
      log.put(record).catch((thrown) => listener.error(toStorageError(thrown)))
    }
    listener.counted()
    for (const one of rejected) this.#settleRejected(one)
  }

  records(record: OutboxRecord): readonly TouchedRecord[] {
    const { replica } = this.#options
    return effectsOf(record).map((effect) => ({
      ...effect,
      theirs: replica.confirmed(effect.t, effect.id)?.p,
    }))
  }

  changed(): void {
    this.#options.outbox.tell()
  }

  onListenerError(error: unknown): void {
    this.#options.onListenerError(error)
  }

  #draft(body: (mutator: Mutator) => unknown): Draft {
    const { replica, models, ids, position } = this.#options
    return draft(body, { rows: replica.shown, models, newId: () => ids.next(), since: position() })
  }

  #add({ ops, before }: Draft, options: AddOptions): LocalTransaction {
    const { clock, ids, outbox, models, replica, position, listener } = this.#options
    const { requires = [], coalesce, label, group, retryOf, instead } = options
    const replaced = outbox.replaceable(coalesce)
    const isKept = (id: string) => id !== replaced?.id
    const record: OutboxRecord = {
      id: ids.next(),
      state: 'queued',
      at: clock.now(),
      since: position(),
      ops,
      before: replaced ? startingFrom(replaced.record.before, before) : before,
      bases: outbox.basesOf(ops).filter(isKept),
      requires: [...new Set([...requires.flatMap(requirement), ...outbox.inserting(ops)])].filter(isKept),
      version: models?.version ?? 1,
      label,
      group,
      coalesce,
      retryOf,
    }
    if (ops.length === 0) return new LocalTransaction(record, { name: 'synced', sid: record.since }, this)
    const transaction = new LocalTransaction(record, { name: 'writing' }, this)
    if (replaced) {
      outbox.remove(replaced)
      replaced.dispatch({ type: 'cancel' })
    }
    outbox.add(transaction)
    listener.change([...(replaced?.record.ops ?? []), ...ops], () =>
      replica.apply([], { lift: replaced ? [replaced.id] : [], lay: [pendingOf(transaction)] }),
    )
    listener.counted()
    void this.#store(
      transaction,
      [replaced, instead].flatMap((one) => one?.id ?? []),
    )
    return transaction
  }

  async #store(transaction: LocalTransaction, remove: readonly string[]): Promise<void> {
    const { log, listener } = this.#options
    const { record } = transaction
    try {
      if (remove.length > 0) await log.change({ put: [record], remove })
      else await log.put(record)
    } catch (thrown) {
      const error = toStorageError(thrown)
      this.#lost(transaction, error)
      return
    }
    if (transaction.dispatch({ type: 'stored' })) listener.queued()
  }

  /** It could not be stored, so it is taken back; what requires it cannot be sent. */
  #lost(transaction: LocalTransaction, error: SyncError): void {
    const { outbox, listener } = this.#options
    if (!this.#drop(transaction, { type: 'lost', error })) return
    for (const one of outbox.list()) {
      if (!one.record.requires.includes(transaction.id)) continue
      this.reject(one, new RejectedError('dependency_rejected', 'It requires one that could not be stored.'))
    }
    listener.error(error)
  }

  #drop(
    transaction: LocalTransaction,
    event: { readonly type: 'cancel' } | { readonly type: 'lost'; readonly error: SyncError },
  ): boolean {
    const { outbox, listener } = this.#options
    if (!transaction.dispatch(event)) return false
    outbox.remove(transaction)
    this.#lift([transaction])
    listener.counted()
    return true
  }

  #lift(transactions: readonly LocalTransaction[]): void {
    const { listener, replica } = this.#options
    const lift = transactions.map(({ id }) => id)
    listener.change(
      transactions.flatMap(({ record }) => record.ops),
      () => replica.apply([], { lift }),
    )
  }

  /** The application may have something better to write than what was rejected. */
  #settleRejected(transaction: LocalTransaction): void {
    const { merge, listener } = this.#options
    try {
      const edit = merge?.(transaction)
      if (edit) {
        this.retry(transaction.id, edit)
        return
      }
    } catch (thrown) {
      listener.error(toSyncError(thrown))
    }
    listener.rejected(transaction)
  }

  #rejected(id: string): LocalTransaction {
    const transaction = this.#options.outbox.get(id)
    if (transaction?.state === 'rejected') return transaction
    throw new ConfigurationError('id', `The outbox holds no rejected transaction ${id}.`)
  }
}

function optionsOf({ label, group, coalesce }: OutboxRecord): MutateOptions {
  return { label, group, coalesce }
}

/** The images of `before`, those of records that `earlier` has, too, being the earlier ones. */
function startingFrom(
  earlier: readonly RecordImage[],
  before: readonly RecordImage[],
): readonly RecordImage[] {
  const images = new Map(earlier.map((image) => [rowKey(image.t, image.id), image]))
  return before.map((image) => images.get(rowKey(image.t, image.id)) ?? image)
}

/** The id under which the server is told of it; none where the data shows it already. */
function requirement({ id, state }: Transaction): readonly string[] {
  if (state === 'synced') return []
  if (state === 'rejected' || state === 'failed' || state === 'cancelled' || state === 'discarded') {
    throw new RejectedError('dependency_rejected', `A transaction that is required was ${state}.`)
  }
  return [id]
}
