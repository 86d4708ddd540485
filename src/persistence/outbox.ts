import { StorageError } from '../base/errors.ts'
import { isOp } from '../protocol/fold.ts'
import { isName, isPayload, isSid } from '../protocol/guards.ts'
import { isObject, type Payload, readJson } from '../protocol/json.ts'
import type { Rejection, TxOp } from '../protocol/tx.ts'
import type { StoreConnection, StoreTransaction, StoreValue } from '../storage/store.ts'

/** A transaction as it is stored, until the data has shown its outcome. */
export interface OutboxRecord {
  /** The transaction's id. Ids sort in the order of the transactions. */
  readonly id: string
  /** `sending`: the server may already have the transaction. */
  readonly state: 'queued' | 'sending' | 'accepted' | 'rejected'
  /** When the transaction was made, in ms since the epoch. */
  readonly at: number
  /** The position of the data that the transaction was made on. */
  readonly since: number
  /** The epoch in which `since` and the positions in the ops are valid; `undefined` if it is not known. */
  readonly epoch?: string | undefined
  readonly ops: readonly TxOp[]
  /** The ops that are sent in place of `ops`, to a server that does not know `was`. */
  readonly sent?: readonly TxOp[] | undefined
  /** The records that the transaction touches, as they were shown before it. */
  readonly before: readonly RecordImage[]
  /** The ids of the pending transactions that the conditional ops build on. */
  readonly bases: readonly string[]
  /** The ids of the transactions without which this one must not happen. */
  readonly requires: readonly string[]
  /** The version of the models for which the ops are written. */
  readonly version: number
  readonly label?: string | undefined
  readonly group?: string | undefined
  readonly coalesce?: string | undefined
  /**
   * Whether the transaction is an undo or a redo: its ops have `was`. It is first sent when the data contains what it
   * takes back.
   */
  readonly isUndo?: boolean | undefined
  /** The transaction that an undo takes back. */
  readonly undoes?: string | undefined
  /** The rejected transaction that this transaction replaces. */
  readonly retryOf?: string | undefined
  /**
   * All transactions that this transaction replaces, one try after the other, rejected or undone. A transaction that
   * requires one of them requires this transaction.
   */
  readonly replaces?: readonly string[] | undefined
  /** Of an accepted transaction: the position of its last change. */
  readonly sid?: number | undefined
  readonly acceptedEpoch?: string | undefined
  /** Whether the data has shown the outcome. The transaction is then never sent again, even after a reset. */
  readonly seen?: boolean | undefined
  /** Of a rejected transaction: why. */
  readonly error?: Rejection | undefined
  /** The life of the database in which the transaction was stored: see `Database.signOut`. */
  readonly life?: string | undefined
}

export interface RecordImage {
  readonly t: string
  readonly id: string
  /** The fields; `null` if there was no record. */
  readonly p: Payload | null
}

/** The content of the outbox when it is opened. */
export interface StoredOutbox {
  readonly records: readonly OutboxRecord[]
  /** Transactions of another life: they were stored after the user had signed out. They are left in place. */
  readonly failed: readonly OutboxRecord[]
  /** Entries that cannot be read, as they are stored. They are left in place. */
  readonly unreadable: readonly StoreValue[]
}

/** The state of the outbox after changes by other clients of the same data. */
export interface OtherTransactions {
  readonly records: readonly OutboxRecord[]
  /** The ids of all stored transactions. */
  readonly ids: ReadonlySet<string>
  /** The ids of the transactions that were cancelled or discarded most recently. */
  readonly gone: readonly string[]
}

/**
 * The transactions of one identity on disk. Each write is one transaction of the store, and is flushed to the disk when
 * it resolves unless it only tells what has become of stored transactions.
 *
 * All but a write of new transactions rejects with a StorageError of code `signed_out`, and changes nothing, once the
 * user has signed out since the database was opened.
 */
export interface OutboxStore {
  read(): Promise<StoredOutbox>
  /** Resolves with the current state of all transactions, and the records of those that `isKnown` does not know. */
  readOthers(isKnown: (id: string) => boolean): Promise<OtherTransactions>
  /**
   * Resolves with the ids that need the caller's attention: of `cancel`, the transactions that another client may have
   * sent; of `send`, `keep` and `restore`, the transactions that another client has cancelled or discarded. If another
   * client has discarded some of the transactions that `put` replaces, resolves with their ids; the write then only
   * marks the replacement as cancelled.
   */
  write(change: OutboxChange): Promise<readonly string[]>
  /** Resolves with the transactions that this client has stored after the user had signed out. */
  readLate(): Promise<readonly OutboxRecord[]>
}

/**
 * A change of the outbox, made in one step. Several clients of one identity may hold the same transaction, and each
 * would send it.
 */
export interface OutboxChange {
  readonly put?: readonly OutboxRecord[]
  readonly remove?: readonly string[]
  /** Removed, and marked so that no client sends or keeps them. */
  readonly discard?: readonly string[]
  /**
   * The id of the transaction that replaces those in `cancel` and `discard`, if there is one. That transaction is in
   * `put`, or was lost.
   */
  readonly by?: string
  /** Put, unless another client has cancelled or discarded them. */
  readonly keep?: readonly OutboxRecord[]
  /** Put if they are still stored: another client may have removed them after seeing their outcome. */
  readonly update?: readonly OutboxRecord[]
  /**
   * Put if they are marked as cancelled or discarded; their marks are removed. If there is no mark, the stored state is
   * newer.
   */
  readonly restore?: readonly OutboxRecord[]
  /** Removed if they are queued, and marked so that no client sends them. */
  readonly cancel?: readonly string[]
  /** About to be sent for the first time: put if they are queued. */
  readonly send?: readonly OutboxRecord[]
}

/** What a change of the outbox did. The other tabs then do the same in memory. */
export interface OutboxNews {
  /** Transactions that are stored now as they are here. */
  readonly records: readonly OutboxRecord[]
  /** The ids of transactions that were cancelled or discarded. */
  readonly gone: readonly string[]
  /** The ids of transactions that the data contains. */
  readonly removed: readonly string[]
}

/** What `change` did. `skipped`: the ids that {@link OutboxStore.write} resolved with. It left them as they were. */
export function newsOf(change: OutboxChange, skipped: readonly string[]): OutboxNews {
  const { put = [], keep = [], restore = [], update = [], send = [] } = change
  const { cancel = [], discard = [], remove = [] } = change
  const isSkipped = new Set(skipped)
  // Another client has discarded first what `put` was to replace.
  if (discard.some((id) => isSkipped.has(id))) return { records: [], gone: [], removed: remove }
  const kept = [...keep, ...restore, ...update, ...send].filter(({ id }) => !isSkipped.has(id))
  const cancelled = cancel.filter((id) => !isSkipped.has(id))
  return { records: [...put, ...kept], gone: [...cancelled, ...discard], removed: remove }
}

/**
 * The prefix of a mark: the key is this prefix and the id of a cancelled or discarded transaction. It sorts after all
 * ids. The value is the id of the transaction that replaces it, or `true`.
 */
const mark = '~'

/**
 * The key of the life of the database, once a user has signed out. `meta` has it, too: here, a change of the outbox
 * compares it without another table. It sorts after all marks.
 */
export const lifeKey = '~~'

/**
 * The number of marks that are kept: more than the transactions that clients can hold without knowing of the change.
 */
const maxMarks = 1_000

/**
 * The outbox in `connection`, whose database is in the life `life`. The fence does not apply: every client that has the
 * database open may store what its user writes.
 */
export function openOutbox(connection: StoreConnection, life?: string): OutboxStore {
  const transact = <T>(
    mode: 'read' | 'write',
    body: (tx: StoreTransaction) => T | Promise<T>,
    durability: 'strict' | 'relaxed' = 'strict',
  ) =>
    connection.transaction({ tables: ['outbox'], mode, durability }, async (tx) => {
      const [, result] = await Promise.all([refuseOtherLife(tx, life), body(tx)])
      return result
    })
  return {
    read: () => transact('read', (tx) => readOutbox(tx, life)),
    readLate: () =>
      connection.transaction({ tables: ['outbox'], mode: 'read' }, async (tx) => {
        const [now, { records }] = await Promise.all([readLife(tx), readOutbox(tx, life)])
        return now === undefined || now === life ? [] : records
      }),
    readOthers: (isKnown) =>
      transact('read', async (tx) => {
        const [ids, marks] = await Promise.all([tx.keys('outbox', { to: mark }), marksIn(tx)])
        const unknownTexts = ids.filter((id) => !isKnown(id)).map((id) => tx.get('outbox', id))
        const stored = new Set(ids)
        const unknown = (await Promise.all(unknownTexts)).flatMap((value) => readRecord(value) ?? [])
        return {
          records: unknown.filter(isOf(life)),
          ids: stored,
          gone: marks.map((key) => key.slice(mark.length)).filter((id) => !stored.has(id)),
        }
      }),
    write: ({ put = [], ...rest }) => {
      const putAll = (tx: StoreTransaction, records: readonly OutboxRecord[]) => {
        for (const record of records) tx.put('outbox', record.id, JSON.stringify({ ...record, life }))
      }
      // Without a read, the browser can commit at once, so the write survives even if the page is just closing.
      if (Object.keys(rest).length === 0) {
        const options = { tables: ['outbox'], mode: 'write', durability: 'strict' } as const
        return connection.transaction(options, (tx) => putAll(tx, put)).then(() => [])
      }
      const {
        remove = [],
        discard = [],
        by,
        keep = [],
        update = [],
        restore = [],
        cancel = [],
        send = [],
      } = rest
      const body = async (tx: StoreTransaction) => {
        const stored = new Set<string>()
        const queued = new Set<string>()
        const marked = new Map<string, StoreValue>()
        const readState = async (id: string) => {
          const [value, itsMark] = await Promise.all([tx.get('outbox', id), tx.get('outbox', markOf(id))])
          if (value !== undefined) stored.add(id)
          if (readRecord(value)?.state === 'queued') queued.add(id)
          if (value === undefined && itsMark !== undefined) marked.set(id, itsMark)
        }
        const toStay = [...send, ...keep, ...restore].map(({ id }) => id)
        await Promise.all([...cancel, ...discard, ...toStay, ...update.map(({ id }) => id)].map(readState))
        // A write that is repeated because its outcome was unknown finds marks: either its own, or those of the
        // transactions that it replaces. Neither kind is another client's.
        const ownMarks = new Set<StoreValue | undefined>([by, ...cancel, ...discard])
        const discardedElsewhere = discard.filter((id) => marked.has(id) && !ownMarks.has(marked.get(id)))
        if (by !== undefined && put.length > 0 && discardedElsewhere.length > 0) {
          tx.put('outbox', markOf(by), true)
          return discardedElsewhere
        }
        const restored = restore.filter(({ id }) => marked.has(id))
        const kept = [
          ...send.filter(({ id }) => queued.has(id)),
          ...keep.filter(({ id }) => !marked.has(id)),
          ...update.filter(({ id }) => stored.has(id)),
          ...restored,
        ]
        putAll(tx, [...put, ...kept])
        for (const id of remove) tx.delete('outbox', id)
        for (const { id } of restored) tx.delete('outbox', markOf(id))
        const gone = [...cancel.filter((id) => queued.has(id)), ...discard]
        for (const id of gone) {
          tx.delete('outbox', id)
          tx.put('outbox', markOf(id), by ?? true)
        }
        const marks = gone.length > 0 ? await marksIn(tx) : []
        for (const key of marks.slice(0, -maxMarks)) tx.delete('outbox', key)
        const sent = cancel.filter((id) => !queued.has(id) && !marked.has(id))
        return [...sent, ...toStay.filter((id) => marked.has(id))]
      }
      // If a power cut takes these back, the server or the data brings them again.
      const isKnownElsewhere = [...put, ...discard, ...keep, ...restore, ...cancel].length === 0
      return transact('write', body, isKnownElsewhere ? 'relaxed' : 'strict')
    },
  }
}

function markOf(id: string): string {
  return mark + id
}

function marksIn(tx: StoreTransaction): Promise<readonly string[]> {
  return tx.keys('outbox', { from: mark, to: lifeKey })
}

/** All that is stored, in the life `life`. */
export async function readOutbox(tx: StoreTransaction, life: string | undefined): Promise<StoredOutbox> {
  const stored = await tx.values('outbox', { to: mark })
  const read = stored.map((value) => ({ value, record: readRecord(value) }))
  const records = read.flatMap(({ record }) => record ?? [])
  return {
    records: records.filter(isOf(life)),
    failed: records.filter((record) => !isOf(life)(record)),
    unreadable: read.flatMap(({ value, record }) => (record ? [] : [value])),
  }
}

/** Whether a record was stored in `life`. One without a life was stored before the database had one. */
function isOf(life: string | undefined) {
  return (record: OutboxRecord) => record.life === undefined || record.life === life
}

async function readLife(tx: StoreTransaction): Promise<string | undefined> {
  const life = await tx.get('outbox', lifeKey)
  return typeof life === 'string' ? life : undefined
}

/** Throws a StorageError of code `signed_out` if the database is no longer in the life `life`. */
export async function refuseOtherLife(tx: StoreTransaction, life: string | undefined): Promise<void> {
  const now = await readLife(tx)
  if (now !== undefined && now !== life) throw signedOut()
}

/** The error of whatever would be stored for a user who has signed out. */
export function signedOut(): StorageError {
  return new StorageError('signed_out', 'The user has signed out: nothing more is stored or sent.')
}

function readRecord(text: StoreValue | undefined): OutboxRecord | undefined {
  const value = readJson(text)
  return isRecord(value) ? value : undefined
}

function isRecord(value: unknown): value is OutboxRecord {
  if (!isObject(value)) return false
  const { id, state, at, since, ops, sent = [], before, bases, requires, replaces = [], version } = value
  return (
    typeof id === 'string' &&
    (state === 'queued' ||
      state === 'sending' ||
      state === 'rejected' ||
      (state === 'accepted' && isSid(value.sid))) &&
    typeof at === 'number' &&
    isSid(since) &&
    isOps(ops) &&
    isOps(sent) &&
    isListOf(before, isImage) &&
    isListOf(bases, isName) &&
    isListOf(requires, isName) &&
    isListOf(replaces, isName) &&
    typeof version === 'number'
  )
}

function isListOf<T>(value: unknown, isItem: (item: unknown) => item is T): value is readonly T[] {
  return Array.isArray(value) && value.every(isItem)
}

function isOps(value: unknown): value is readonly TxOp[] {
  return isListOf(value, isOp)
}

function isImage(value: unknown): value is RecordImage {
  return isObject(value) && isName(value.t) && isName(value.id) && (value.p === null || isPayload(value.p))
}
