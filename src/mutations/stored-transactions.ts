import type { ErrorReporter } from '../base/error-reporter.ts'
import { ClosedError, RejectedError, StorageError, toError } from '../base/errors.ts'
import type { Ids } from '../base/ids.ts'
import { migrateOp, migrateRow } from '../models/migrate.ts'
import type { Models } from '../models/models.ts'
import type { Disk } from '../persistence/disk.ts'
import {
  type OutboxNews,
  type OutboxRecord,
  type RecordImage,
  type StoredOutbox,
  signedOut,
} from '../persistence/outbox.ts'
import type { Acknowledgements } from './acknowledgements.ts'
import type { OptimisticUpdates } from './optimistic-updates.ts'
import type { Outbox } from './outbox.ts'
import type { OutboxLog } from './outbox-log.ts'
import type { Rollback, RollbackListener } from './rollback.ts'
import { LocalTransaction, stateOf, type TransactionHost } from './transaction.ts'
import type { TransactionMaker } from './transaction-maker.ts'
import type { ExportedOutbox } from './writer.ts'

export interface StoredTransactionsOptions {
  readonly disk: Disk
  /** Loads the records of a lazy type. */
  readonly use: (t: string) => void
  readonly outbox: Outbox
  readonly optimisticUpdates: OptimisticUpdates
  readonly log: OutboxLog
  readonly host: TransactionHost & Pick<TransactionMaker, 'found'>
  readonly rollback: Rollback
  readonly models: Models
  readonly ids: Ids
  readonly acknowledgements: Acknowledgements
  readonly reporter: Pick<ErrorReporter, 'error'>
  readonly listener: Pick<RollbackListener, 'queued'>
}

/** Reads the transactions on the disk, which all clients of the same data share, into the outbox. */
export class StoredTransactions {
  readonly #options: StoredTransactionsOptions
  #reading: Promise<void> | undefined
  #unreadable: StoredOutbox['unreadable'] = []
  /** Transactions that were written after the user had signed out. */
  #failed: StoredOutbox['failed'] = []
  #hasEnded = false
  /** Whether the database was opened again and may lack the transactions in memory. */
  #mayBeLost = false

  constructor(options: StoredTransactionsOptions) {
    this.#options = options
  }

  /** Reads the transactions from the open disk. Rejects if they cannot be read; the next call tries again. */
  read(): Promise<void> {
    this.#reading ??= this.#read().catch((error) => {
      this.#reading = undefined
      throw error
    })
    return this.#reading
  }

  /** As {@link read}, but opens the disk first. */
  async open(): Promise<void> {
    const { disk } = this.#options
    await disk.open()
    if (disk.isSealed && !this.#reading) throw new ClosedError()
    await this.read()
  }

  /** All transactions in the outbox, and those on the disk that cannot be read. */
  async export(): Promise<ExportedOutbox> {
    if (!this.#hasEnded) await this.open()
    const transactions = this.#options.outbox.list().map(({ record }) => record)
    return { transactions, failed: this.#failed, unreadable: this.#unreadable }
  }

  /**
   * The user has signed out. Empties the outbox; what was written after that has failed. `isChosen`: what becomes of
   * transactions that the disk does not have was decided before.
   */
  async end(isChosen: boolean): Promise<void> {
    const { disk, outbox, optimisticUpdates } = this.#options
    const late = await disk.database.outbox.readLate().catch(() => [])
    const lateIds = new Set(late.map(({ id }) => id))
    const all = outbox.list()
    const failed = all.filter(({ id, isStored }) => lateIds.has(id) || !(isStored || isChosen))
    optimisticUpdates.exchange(all, [])
    for (const transaction of failed) transaction.dispatch({ type: 'lost', error: signedOut() })
    for (const transaction of all)
      transaction.close(new ClosedError('The user has signed out.', { code: 'signed_out' }))
    this.#failed = [...late, ...failed.filter(({ id }) => !lateIds.has(id)).map(({ record }) => record)]
    this.#hasEnded = true
  }

  /** Reads transactions that other clients have added, cancelled or discarded since. Rejects if the disk fails. */
  async readOthers(): Promise<void> {
    const { disk, outbox, log } = this.#options
    const store = disk.database.outbox
    await log.settled()
    const { records, ids, gone } = await store.readOthers((id) => outbox.knows(id))
    this.#found(records)
    outbox.forgetAllBut(ids)
    // The store forgets its marks of ended transactions from the lowest id on: new ids have to be higher than all
    // marks.
    for (const id of gone) this.#options.ids.follow(id)
    this.#remove(gone)
  }

  /** As {@link readOthers}, and learns what has become of the transactions that are here, too. */
  async catchUp(): Promise<void> {
    const { disk, outbox, log, acknowledgements } = this.#options
    await log.settled()
    const here = outbox.list().filter(({ isStored }) => isStored)
    if (here.length === 0) return this.readOthers()
    const { database } = disk
    const { records, unreadable } = await database.outbox.read()
    const position = await database.position()
    // A cancelled or discarded transaction is not stored either. Read these last, so that none counts as synced.
    await this.readOthers()
    const byId = new Map(records.map((record) => [record.id, record]))
    const canBeRemoved = position && unreadable.length === 0 && !this.#mayBeLost
    for (const transaction of here) {
      const record = byId.get(transaction.id)
      if (outbox.get(transaction.id) !== transaction) continue
      if (record) acknowledgements.settle(transaction, record)
      else if (canBeRemoved) acknowledgements.settleRemoved(transaction, position.sid)
    }
  }

  /** Another tab has changed stored transactions. Returns whether that leaves questions for {@link catchUp}. */
  heard({ records, gone, removed }: OutboxNews): boolean {
    const { outbox, acknowledgements } = this.#options
    this.#found(records.filter(({ id }) => !outbox.knows(id)))
    for (const record of records) {
      const transaction = outbox.get(record.id)
      if (transaction) acknowledgements.settle(transaction, record)
    }
    this.#remove(gone)
    return removed.some((id) => {
      const transaction = outbox.get(id)
      return transaction !== undefined && transaction.state !== 'accepted'
    })
  }

  /** Reads the transactions of a disk that was opened again. If they cannot be read, sending waits until they can. */
  async opened(): Promise<void> {
    this.#reading = undefined
    await this.read().catch(() => {})
  }

  /** Stores all transactions again: the disk may have lost them. */
  reopened(): void {
    this.#mayBeLost = true
    // A client that is closing does not keep up with a browser that closes the database over and over.
    if (!this.#options.disk.isSealed) this.storeAgain()
  }

  /**
   * Stores transactions that the disk has not accepted or may have lost. Leaves out those whose first write is still
   * running.
   */
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
        this.#remove(gone)
      })
      .catch(() => {})
  }

  /** Resolves once the running read has ended, also if it fails. */
  async settled(): Promise<void> {
    await this.#reading?.catch(() => {})
  }

  /** Removes transactions that another client has cancelled or discarded. */
  #remove(gone: readonly string[]): void {
    const { outbox, rollback } = this.#options
    const removed = gone.flatMap((id) => outbox.get(id) ?? [])
    rollback.drop(removed.filter(({ state }) => state === 'rejected'))
    for (const transaction of removed) if (transaction.state === 'queued') rollback.withdraw(transaction)
  }

  async #read(): Promise<void> {
    const { disk, reporter } = this.#options
    const { records, failed, unreadable } = await disk.database.outbox.read()
    this.#unreadable = unreadable
    this.#failed = failed
    const report = (code: 'signed_out' | 'unreadable', { length }: readonly unknown[], what: string) => {
      if (length === 0) return
      reporter.error(new StorageError(code, `${length} ${what}: \`outbox.export()\` returns them.`))
    }
    report('signed_out', failed, 'transactions were written after the user had signed out, and are not sent')
    report('unreadable', unreadable, 'unsent transactions in the local database cannot be read')
    this.#found(records)
  }

  #found(records: readonly OutboxRecord[]): void {
    const { use, outbox, optimisticUpdates, host, rollback, models, ids, listener } = this.#options
    const { acknowledgements } = this.#options
    const faults = new Map<LocalTransaction, RejectedError>()
    // Records are in ascending order.
    const last = records.at(-1)
    if (!last) return
    // New transactions come after the stored ones.
    ids.follow(last.id)
    const added = records.flatMap((record) =>
      outbox.knows(record.id) ? [] : (acknowledgements.take(record) ?? []),
    )
    const found = added.map((stored) => {
      const { record, fault } = migrated(stored, models)
      const transaction = new LocalTransaction(record, stateOf(record), host)
      if (fault) faults.set(transaction, fault)
      return transaction
    })
    // Sending reads the disk first. Without new transactions, do not ask for sending again.
    if (found.length === 0) return
    for (const { t } of found.flatMap(({ record }) => record.ops)) use(t)
    optimisticUpdates.found(found, faults)
    for (const transaction of found) host.found(transaction)
    // A transaction that cannot be migrated stays in the outbox as a rejected one.
    for (const [transaction, fault] of faults) rollback.reject(transaction, fault)
    listener.queued()
  }
}

/** `record` migrated to the version of the models; or unchanged, with the reason why it cannot be migrated. */
function migrated(
  record: OutboxRecord,
  models: Models,
): { readonly record: OutboxRecord; readonly fault?: RejectedError } {
  if (record.version >= models.version) return { record }
  const { version, ops, sent, before } = record
  const opsOf = (old: typeof ops) => old.map((op) => migrateOp(models, version, op))
  try {
    const migrated = {
      ops: opsOf(ops),
      sent: sent && opsOf(sent),
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
