import { RejectedError, StorageError, toError } from '../base/errors.ts'
import type { OutboxRecord, RecordImage, StoredOutbox } from '../database/outbox.ts'
import { migrateOp, migrateRow } from '../models/migrate.ts'
import type { Models } from '../models/models.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { OutboxLog } from '../outbox/outbox-log.ts'
import { LocalTransaction, stateOf, type TransactionHost } from '../outbox/transaction.ts'
import type { DeltaMessage } from '../protocol/delta.ts'
import type { Reporter } from './reporter.ts'
import type { Standing, StandingListener } from './standing.ts'

export interface SettlementOptions {
  readonly outbox: Outbox
  readonly log: OutboxLog
  readonly host: TransactionHost
  readonly standing: Standing
  readonly models: Models
  /** A transaction is on disk: what is made from now on comes after it. */
  readonly follow: (id: string) => void
  readonly reporter: Pick<Reporter, 'error'>
  readonly listener: Pick<StandingListener, 'counted' | 'queued' | 'judged'>
}

/** What becomes of the transactions by the data that comes, and by a restart. */
export class Settlement {
  readonly #options: SettlementOptions
  #unreadable: StoredOutbox['unreadable'] = []

  constructor(options: SettlementOptions) {
    this.#options = options
  }

  /** What was found on disk and could not be read. */
  get unreadable(): StoredOutbox['unreadable'] {
    return this.#unreadable
  }

  /** Counts on with each verdict of the server. */
  get mark(): number {
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

  /** Those that the data shows once it is proven up to `sid`, by a fetch that began at `mark`. */
  shownAt(sid: number, mark: number): readonly LocalTransaction[] {
    return this.#options.outbox.shownAt(sid, mark)
  }

  /** By the same measure, what was rejected can now be compared with what the server has. */
  judgedAt(sid: number, mark: number): void {
    const { outbox, listener } = this.#options
    for (const transaction of outbox.judgedAt(sid, mark)) listener.judged(transaction)
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

  /** Whether a transaction on disk is here, or was. */
  knows(id: string): boolean {
    return this.#options.outbox.knows(id)
  }

  /** What of the disk cannot be read is left there, and told. */
  leave(unreadable: StoredOutbox['unreadable']): void {
    this.#unreadable = unreadable
    if (unreadable.length === 0) return
    const what = `${unreadable.length} unsent transactions in the local database cannot be read`
    const advice = '`outbox.export()` gives them as they are stored'
    this.#options.reporter.error(new StorageError('unreadable', `${what}: ${advice}.`))
  }

  /** What is on disk, or another client has stored since, is here. Calls `show` to lay it, in its order, over the data. */
  found(records: readonly OutboxRecord[], show: (transactions: readonly LocalTransaction[]) => void): void {
    const { outbox, host, standing, models, follow, listener } = this.#options
    const faults = new Map<LocalTransaction, RejectedError>()
    // They are in their order.
    const last = records.at(-1)
    if (!last) return
    follow(last.id)
    const others = records.filter(({ id }) => !outbox.knows(id))
    const found = others.map((stored) => {
      const { record, fault } = migrated(stored, models)
      const transaction = new LocalTransaction(record, stateOf(record), host)
      if (fault) faults.set(transaction, fault)
      // As what it may be sent from now on, the next version has to know, too.
      if (stored.state === 'sending' && record !== stored) this.#keep(transaction)
      return transaction
    })
    show(outbox.insert(found).filter((transaction) => !faults.has(transaction)))
    // What cannot be migrated is parked, never lost.
    for (const [transaction, fault] of faults) standing.reject(transaction, fault)
    listener.counted()
    listener.queued()
  }

  /** Resolves once nothing of the transactions is being written. */
  stored(): Promise<void> {
    return this.#options.log.settled()
  }

  /** Of what is neither here nor `stored`, nothing has to be known; what is `gone` leaves here, too. */
  compare(stored: ReadonlySet<string>, gone: readonly string[]): void {
    const { outbox, standing } = this.#options
    outbox.forgetAllBut(stored)
    const leaving = gone.flatMap((id) => outbox.get(id) ?? [])
    standing.drop(leaving.filter(({ state }) => state === 'rejected'))
    for (const transaction of leaving) if (transaction.state === 'queued') standing.withdraw(transaction)
  }

  /** The disk may have lost all that it held of them. */
  storeAgain(): void {
    const { outbox, standing } = this.#options
    standing.writeAgain(outbox.list())
  }

  /** Where this fails, a restart sends it once more, and gets the same answer. */
  #keep({ record }: LocalTransaction): void {
    this.#options.log.put(record).catch(() => {})
  }
}

/** `record` in the shape that the models have now, or as it is and why it cannot be brought there. */
function migrated(
  record: OutboxRecord,
  models: Models,
): { readonly record: OutboxRecord; readonly fault?: RejectedError } {
  if (record.version >= models.version) return { record }
  const { version, ops, shapes = [], before } = record
  try {
    const migrated = {
      // A client of the older version may have sent it.
      shapes: [...shapes, ops],
      ops: ops.map((op) => migrateOp(models, version, op)),
      before: before.map((image) => migrateImage(models, version, image)),
    }
    return { record: { ...record, ...migrated, version: models.version } }
  } catch (thrown) {
    return { record, fault: new RejectedError('migration', toError(thrown).message) }
  }
}

function migrateImage(models: Models, version: number, { t, id, p }: RecordImage): RecordImage {
  return p ? migrateRow(models, version, { t, id, p }) : { t, id, p }
}
