import type { ErrorReporter } from '../base/error-reporter.ts'
import { ClosedError, RejectedError, StorageError, toError } from '../base/errors.ts'
import type { Ids } from '../base/ids.ts'
import { migrateOp, migrateRow } from '../models/migrate.ts'
import type { Models } from '../models/models.ts'
import type { Disk } from '../persistence/disk.ts'
import type { OutboxRecord, RecordImage, StoredOutbox } from '../persistence/outbox.ts'
import type { OptimisticUpdates } from './optimistic-updates.ts'
import type { Outbox } from './outbox.ts'
import type { OutboxLog } from './outbox-log.ts'
import type { Rollback, RollbackListener } from './rollback.ts'
import { LocalTransaction, stateOf, type TransactionHost } from './transaction.ts'
import type { ExportedOutbox } from './writer.ts'

export interface StoredTransactionsOptions {
  readonly disk: Disk
  /** Records of the type are wanted. */
  readonly use: (t: string) => void
  readonly outbox: Outbox
  readonly optimisticUpdates: OptimisticUpdates
  readonly log: OutboxLog
  readonly host: TransactionHost
  readonly rollback: Rollback
  readonly models: Models
  readonly ids: Ids
  /** See `Settlement.take`. */
  readonly take: (record: OutboxRecord) => OutboxRecord | undefined
  readonly reporter: Pick<ErrorReporter, 'error'>
  readonly listener: Pick<RollbackListener, 'counted' | 'queued'>
}

/** Brings here the transactions that are on disk, where other clients of the same data keep theirs, too. */
export class StoredTransactions {
  readonly #options: StoredTransactionsOptions
  #reading: Promise<void> | undefined
  #unreadable: StoredOutbox['unreadable'] = []
  /** Whether the database was opened again, and what is here is not stored there yet. */
  #mayBeLost = false

  constructor(options: StoredTransactionsOptions) {
    this.#options = options
  }

  /** Resolves once those are here that are on an open disk. Rejects where they cannot be read; the next call tries again. */
  read(): Promise<void> {
    this.#reading ??= this.#read().catch((error) => {
      this.#reading = undefined
      throw error
    })
    return this.#reading
  }

  /** The same, once the disk is open. */
  async open(): Promise<void> {
    const { disk } = this.#options
    await disk.open()
    if (disk.isSealed && !this.#reading) throw new ClosedError()
    await this.read()
  }

  /** All that is here, and what is on disk and cannot be read. */
  async export(): Promise<ExportedOutbox> {
    await this.open()
    const transactions = this.#options.outbox.list().map(({ record }) => record)
    return { transactions, unreadable: this.#unreadable }
  }

  /** Takes in what other clients have made of them. Rejects where it cannot. */
  async readOthers(): Promise<void> {
    const { disk, outbox, log } = this.#options
    const store = disk.database.outbox
    await log.settled()
    const { records, ids, gone } = await store.readOthers((id) => outbox.knows(id))
    this.#found(records)
    outbox.forgetAllBut(ids)
    // The least of the marks are forgotten first: what is made from now on is none of them.
    for (const id of gone) this.#options.ids.follow(id)
    this.#leave(gone)
  }

  /** One as it is on disk now: `gone` once another client has seen its end. */
  async find({ id }: LocalTransaction): Promise<OutboxRecord | 'gone' | undefined> {
    const { disk, log } = this.#options
    const store = disk.database.outbox
    await log.settled()
    return store.find(id).catch(() => undefined)
  }

  /** An open disk has come, and those on it are not here yet. Where they cannot be read, sending waits until they are. */
  async opened(): Promise<void> {
    this.#reading = undefined
    await this.read().catch(() => {})
  }

  /** The disk may have lost all that it held of them. */
  reopened(): void {
    this.#mayBeLost = true
    // A client that ends does not follow an engine that closes the database over and over.
    if (!this.#options.disk.isSealed) this.storeAgain()
  }

  /** Stores what the disk did not take, or may have lost. What is still being stored for the first time is left out. */
  storeAgain(): void {
    const { outbox, log } = this.#options
    const lacking = () =>
      outbox.list().filter(({ state, isStored }) => state !== 'writing' && (this.#mayBeLost || !isStored))
    if (lacking().length === 0) return
    let put: readonly LocalTransaction[] = []
    const change = () => {
      put = lacking()
      return { keep: put.map(({ record }) => record) }
    }
    log
      .change(change)
      .then((gone) => {
        this.#mayBeLost = false
        for (const transaction of put) transaction.dispatch({ type: 'stored' })
        this.#leave(gone)
      })
      .catch(() => {})
  }

  /** Resolves once what is being read is here, or cannot be read. */
  async settled(): Promise<void> {
    await this.#reading?.catch(() => {})
  }

  /** Another client has cancelled or discarded these. */
  #leave(gone: readonly string[]): void {
    const { outbox, rollback } = this.#options
    const leaving = gone.flatMap((id) => outbox.get(id) ?? [])
    rollback.drop(leaving.filter(({ state }) => state === 'rejected'))
    for (const transaction of leaving) if (transaction.state === 'queued') rollback.withdraw(transaction)
  }

  async #read(): Promise<void> {
    const { disk, reporter } = this.#options
    const { records, unreadable } = await disk.database.outbox.read()
    this.#unreadable = unreadable
    if (unreadable.length > 0) {
      const what = `${unreadable.length} unsent transactions in the local database cannot be read`
      const advice = '`outbox.export()` gives them as they are stored'
      reporter.error(new StorageError('unreadable', `${what}: ${advice}.`))
    }
    this.#found(records)
  }

  #found(records: readonly OutboxRecord[]): void {
    const { use, outbox, optimisticUpdates, log, host, rollback, models, ids, take, listener } = this.#options
    const faults = new Map<LocalTransaction, RejectedError>()
    // They are in their order.
    const last = records.at(-1)
    if (!last) return
    // What is made from now on comes after them.
    ids.follow(last.id)
    const others = records.flatMap((record) => (outbox.knows(record.id) ? [] : (take(record) ?? [])))
    const found = others.map((stored) => {
      const { record, fault } = migrated(stored, models)
      const transaction = new LocalTransaction(record, stateOf(record), host)
      if (fault) faults.set(transaction, fault)
      // As what it may be sent from now on, the next version has to know, too.
      if (stored.state === 'sending' && record !== stored) log.put(record).catch(() => {})
      return transaction
    })
    // Sending reads the disk: without news, it is not to be asked for again.
    if (found.length === 0) return
    for (const { t } of found.flatMap(({ record }) => record.ops)) use(t)
    optimisticUpdates.found(found, faults)
    // What cannot be migrated is parked, never lost.
    for (const [transaction, fault] of faults) rollback.reject(transaction, fault)
    listener.counted()
    listener.queued()
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
