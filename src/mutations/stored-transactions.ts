import type { ErrorReporter } from '../base/error-reporter.ts'
import { ClosedError, RejectedError, StorageError, toError } from '../base/errors.ts'
import { migrateOp, migrateRow } from '../models/migrate.ts'
import type { Models } from '../models/models.ts'
import type { CallerCheck } from '../network/caller-check.ts'
import type { Disk } from '../persistence/disk.ts'
import { signedOut } from '../persistence/meta.ts'
import {
  isEnd,
  maxEnds,
  type OutboxChange,
  type OutboxNews,
  type OutboxRecord,
  type OutboxWritten,
  type RecordImage,
  type StoredOutbox,
} from '../persistence/outbox.ts'
import type { Acknowledgements } from './acknowledgements.ts'
import type { OptimisticUpdates } from './optimistic-updates.ts'
import type { Outbox } from './outbox.ts'
import type { OutboxLog } from './outbox-log.ts'
import type { Rollback, RollbackListener } from './rollback.ts'
import { LocalTransaction, stateOf, type TransactionHost } from './transaction.ts'
import type { ExportedOutbox } from './writer.ts'

export interface StoredTransactionsOptions {
  readonly disk: Disk
  /** Loads the records of a lazy type. */
  readonly use: (t: string) => void
  readonly outbox: Outbox
  readonly optimisticUpdates: OptimisticUpdates
  readonly log: OutboxLog
  readonly host: TransactionHost
  readonly rollback: Rollback
  readonly models: Models
  readonly callerCheck: CallerCheck
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
  /** Whether the write of {@link storeAgain} waits for earlier ones. */
  #isToStoreAgain = false

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
   * Empties the outbox after the user has signed out, and resolves with what was in it. Transactions that were written
   * after the sign-out have failed. `isChosen`: `logout` has already decided about transactions that the disk does not
   * have.
   */
  async end(isChosen: boolean): Promise<readonly LocalTransaction[]> {
    const { disk, outbox, optimisticUpdates } = this.#options
    const late = await disk.outbox.readLate().catch(() => [])
    const lateIds = new Set(late.map(({ id }) => id))
    const all = outbox.list()
    const failed = all.filter(({ id, isStored }) => lateIds.has(id) || !(isStored || isChosen))
    optimisticUpdates.exchange(all, [])
    for (const transaction of failed) transaction.dispatch({ type: 'lost', error: signedOut() })
    this.#failed = [...late, ...failed.filter(({ id }) => !lateIds.has(id)).map(({ record }) => record)]
    this.#hasEnded = true
    return all
  }

  /** Reads transactions that other clients have added since. Rejects if the disk fails. */
  async readNew(): Promise<void> {
    const { disk, outbox, log } = this.#options
    await log.settled()
    this.#found(await disk.outbox.read(outbox.last))
  }

  /**
   * Reads the transactions that other clients have added, and the stored states of the others. Rejects if the disk
   * fails.
   */
  async catchUp(): Promise<void> {
    const { disk, outbox, log, acknowledgements } = this.#options
    await log.settled()
    const here = outbox.list().filter(({ isStored }) => isStored)
    const { lost } = outbox
    const stored = await disk.outbox.read()
    const { records, ends, unreadable } = stored
    const entries = new Map([...ends, ...records].map((entry) => [entry.id, entry]))
    const position = here.every(({ id }) => entries.has(id)) ? undefined : await disk.data.position()
    this.#found(stored)
    const isComplete = unreadable.length + lost + outbox.lost === 0
    for (const transaction of here) {
      const { id } = transaction
      const entry = entries.get(id)
      if (outbox.get(id) !== transaction) continue
      if (entry) acknowledgements.settle(transaction, entry)
      // The disk no longer keeps the end of the transaction, which is too old. An emptied disk has few ends.
      else if (position && isComplete && ends.length >= maxEnds && transaction.state !== 'rejected')
        acknowledgements.settle(transaction, {
          id,
          state: 'synced',
          sid: position.sid,
          acceptedEpoch: position.epoch,
        })
    }
  }

  /** Applies `entries`, which another tab has stored. */
  heard(entries: OutboxNews): void {
    const { outbox, acknowledgements } = this.#options
    outbox.saw(entries)
    this.#add(entries.flatMap((entry) => (isEnd(entry) ? [] : entry)))
    acknowledgements.ended(entries.filter(isEnd))
    for (const entry of entries) {
      outbox.follow(entry.key)
      const transaction = outbox.get(entry.id)
      if (transaction) acknowledgements.settle(transaction, entry)
    }
  }

  /** Reads the transactions of a database that was just opened. If they cannot be read, sending waits until they can. */
  async opened(): Promise<void> {
    this.#reading = undefined
    await this.read().catch(() => {})
  }

  /**
   * Another database is open, which has other keys, and lacks the transactions in memory: the next write stores them
   * again.
   */
  moved(): void {
    const { outbox, acknowledgements } = this.#options
    // Before the first opening, transactions wait to be stored.
    if (outbox.undone.size > 0 || outbox.list().some(({ state }) => state !== 'writing')) outbox.lost += 1
    outbox.forgetKeys()
    acknowledgements.forgetKeys()
  }

  /**
   * Stores the lacking transactions soon. If there are none, but the disk has refused a write, finds out whether it works
   * again.
   */
  storeAgain(): void {
    const { disk, log, outbox } = this.#options
    const isWanted = outbox.lost > 0 || this.#lacking.length > 0 || (disk.outbox.refused && !disk.isSealed)
    if (!isWanted || this.#isToStoreAgain) return
    this.#isToStoreAgain = true
    log
      .change(() => {
        this.#isToStoreAgain = false
        return {}
      })
      .catch(() => {})
  }

  /**
   * Stores the lacking transactions. Call at the beginning of each write to the outbox: another tab must not find and
   * send a later transaction without these. Rejects with a StorageError.
   */
  async storeLacking(write: (change: OutboxChange) => Promise<OutboxWritten>): Promise<void> {
    const { outbox, optimisticUpdates, acknowledgements } = this.#options
    // The disk may lose them once more meanwhile.
    const { lost } = outbox
    const lacking = this.#lacking
    const undone = lost > 0 ? [...outbox.undone.values()] : []
    if (lacking.length + undone.length > 0) {
      const written = await write({ keep: lacking.map(({ record }) => record), undone })
      optimisticUpdates.place(lacking, written)
      for (const transaction of lacking) {
        transaction.dispatch({ type: 'stored' })
        outbox.touch(transaction)
        const entry = written.refused.get(transaction.id)
        if (entry) acknowledgements.settle(transaction, entry)
      }
    }
    outbox.lost -= lost
  }

  /** The transactions that the disk has not accepted or may have lost, except those whose first write has not ended. */
  get #lacking(): readonly LocalTransaction[] {
    const { outbox } = this.#options
    // A rejection is stored by itself. If that fails, the disk counts as one that may have lost all.
    const isLacking = ({ state, isStored }: LocalTransaction) =>
      state !== 'writing' && (outbox.lost > 0 || !(isStored || state === 'rejected'))
    return outbox.list().filter(isLacking)
  }

  /** Resolves once the running read has ended, also if it fails. */
  async settled(): Promise<void> {
    await this.#reading?.catch(() => {})
  }

  async #read(): Promise<void> {
    const { disk, reporter } = this.#options
    const stored = await disk.outbox.read()
    const { failed, unreadable } = stored
    this.#unreadable = unreadable
    this.#failed = failed
    const report = (code: 'signed_out' | 'unreadable', { length }: readonly unknown[], what: string) => {
      if (length === 0) return
      reporter.error(new StorageError(code, `${length} ${what}: \`outbox.export()\` returns them.`))
    }
    report('signed_out', failed, 'transactions were written after the user had signed out, and are not sent')
    report('unreadable', unreadable, 'unsent transactions in the local database cannot be read')
    this.#found(stored)
  }

  #found({ records, ends, last }: StoredOutbox): void {
    this.#options.outbox.hasRead(last)
    this.#options.outbox.saw([...ends, ...records])
    this.#add(records)
  }

  #add(records: readonly OutboxRecord[]): void {
    const { use, outbox, optimisticUpdates, host, rollback, models, listener } = this.#options
    const { acknowledgements, callerCheck } = this.#options
    // The transactions belong to the user who has made them, even if nothing else on the disk says who that is.
    for (const { caller } of records) callerCheck.isOther(caller)
    const faults = new Map<LocalTransaction, RejectedError>()
    const added = records.flatMap((record) => {
      const left = outbox.get(record.id) ? undefined : acknowledgements.endIfShown(record)
      return left && !outbox.knows(left.id) ? left : []
    })
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
    for (const transaction of found) {
      const { undoes, retryOf } = transaction.record
      if (undoes !== undefined) transaction.undoes = outbox.get(undoes)
      // A client that this one does not hear has written that one again.
      const replaced = retryOf === undefined ? undefined : outbox.get(retryOf)
      if (replaced) acknowledgements.settle(replaced, { id: replaced.id, state: 'discarded' })
    }
    // A transaction that cannot be migrated stays in the outbox as a rejected one.
    for (const [transaction, fault] of faults) rollback.reject(transaction, fault)
    listener.queued()
  }
}

/**
 * `record`, migrated to the version of the models. If it cannot be migrated: `record` unchanged, and the reason as
 * `fault`.
 */
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
