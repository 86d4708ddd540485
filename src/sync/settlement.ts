import { RejectedError, StorageError, type SyncError, toError } from '../base/errors.ts'
import type { OutboxRecord, StoredOutbox } from '../database/outbox.ts'
import { migrateOp } from '../models/migrate.ts'
import type { Models } from '../models/models.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { OutboxLog } from '../outbox/outbox-log.ts'
import { LocalTransaction, type TransactionHost } from '../outbox/transaction.ts'
import type { TransactionState } from '../outbox/transaction-state.ts'
import type { DeltaMessage } from '../protocol/delta.ts'
import type { OverlayChange, PendingOps } from '../replica/overlay.ts'
import type { PendingWrites } from './local-copy.ts'

export interface SettlementOptions {
  readonly outbox: Outbox
  readonly log: OutboxLog
  readonly models: Models | undefined
  readonly host: TransactionHost
  /** A transaction is on disk: what is made from now on comes after it. */
  readonly follow: (id: string) => void
  readonly listener: SettlementListener
}

export interface SettlementListener {
  /** How many are pending or rejected may be another. */
  counted(): void
  /** There is something to send. */
  queued(): void
  error(error: SyncError): void
}

/** What becomes of the transactions by the data that comes, and by a restart. */
export class Settlement implements PendingWrites {
  readonly #options: SettlementOptions
  #unreadable: StoredOutbox['unreadable'] = []

  constructor(options: SettlementOptions) {
    this.#options = options
  }

  /** What was found on disk and could not be read. */
  get unreadable(): StoredOutbox['unreadable'] {
    return this.#unreadable
  }

  get mark(): number {
    return this.#options.outbox.acceptances
  }

  /** A frame that names a transaction says that the server has it, also where the answer was lost. */
  heard({ changes }: DeltaMessage): void {
    if (changes.kind === 'rows') return
    const { outbox } = this.#options
    const reached = new Map<LocalTransaction, number>()
    for (const { tx, sid } of changes.frames) {
      const transaction = tx === undefined ? undefined : outbox.get(tx)
      if (transaction) reached.set(transaction, Math.max(sid, reached.get(transaction) ?? sid))
    }
    for (const [transaction, sid] of reached) if (outbox.accept(transaction, sid)) this.#keep(transaction)
  }

  requeue(): void {
    const { outbox, listener } = this.#options
    for (const transaction of outbox.requeue()) this.#keep(transaction)
    listener.queued()
  }

  shownAt(sid: number, mark: number): readonly string[] {
    return this.#options.outbox.shownAt(sid, mark).map(({ id }) => id)
  }

  synced(ids: readonly string[], stored: Promise<void>): void {
    const { outbox, log, listener } = this.#options
    for (const id of ids) {
      const transaction = outbox.get(id)
      if (!transaction) continue
      outbox.remove(transaction)
      transaction.dispatch({ type: 'sync' })
    }
    listener.counted()
    // What stays on disk, the next start finds to be synced.
    stored.then(() => log.change({ remove: ids })).catch(() => {})
  }

  restored({ records, unreadable }: StoredOutbox): OverlayChange {
    const { outbox, listener } = this.#options
    this.#unreadable = unreadable
    if (unreadable.length > 0) {
      const what = `${unreadable.length} unsent transactions in the local database cannot be read`
      const advice = '`outbox.export()` gives them as they are stored'
      listener.error(new StorageError('unreadable', `${what}: ${advice}.`))
    }
    // What was made before the disk was read comes after what the disk holds.
    const made = outbox.list()
    const restored = records.map((record) => this.#restore(record))
    for (const transaction of made) outbox.remove(transaction)
    for (const transaction of [...restored, ...made]) outbox.add(transaction)
    listener.counted()
    listener.queued()
    const lay = [...restored, ...made].filter(({ state }) => state !== 'rejected').map(pendingOf)
    return { lift: made.map(({ id }) => id), lay }
  }

  #restore(stored: OutboxRecord): LocalTransaction {
    const { models, host, follow } = this.#options
    const record = migrated(stored, models)
    follow(record.id)
    return new LocalTransaction(record, stateOf(record), host)
  }

  /** Where this fails, a restart sends it once more, and gets the same answer. */
  #keep({ record }: LocalTransaction): void {
    this.#options.log.put(record).catch(() => {})
  }
}

export function pendingOf({ record }: LocalTransaction): PendingOps {
  return { id: record.id, ops: record.ops }
}

/** What cannot be migrated is parked, never lost. */
function migrated(record: OutboxRecord, models: Models | undefined): OutboxRecord {
  if (!models || record.version >= models.version) return record
  try {
    const ops = record.ops.map((op) => migrateOp(models, record.version, op))
    return { ...record, ops, version: models.version }
  } catch (thrown) {
    return { ...record, state: 'rejected', error: { code: 'migration', message: toError(thrown).message } }
  }
}

function stateOf({ state, sid = 0, error }: OutboxRecord): TransactionState {
  if (state === 'accepted') return { name: 'accepted', sid }
  if (state === 'queued') return { name: 'queued' }
  const { code = 'unknown', message = 'The server refused it.', details } = error ?? {}
  return { name: 'rejected', error: new RejectedError(code, message, details) }
}
