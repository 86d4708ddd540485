import { StorageError, toStorageError } from '../base/errors.ts'
import { isOp } from '../protocol/fold.ts'
import { isName, isPayload, isSid } from '../protocol/guards.ts'
import { isObject, type Payload, readJson } from '../protocol/json.ts'
import type { Rejection, TxOp } from '../protocol/tx.ts'
import type { StoreConnection, StoreTransaction, StoreValue, TransactionOptions } from '../storage/store.ts'
import { after, digits } from './format.ts'

/** A transaction as it is stored, until the data has shown its outcome. */
export interface OutboxRecord {
  readonly id: string
  /** Where it is stored: keys sort in the order of the transactions. `undefined` until it is stored. */
  readonly key?: string | undefined
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

/** What has become of a transaction: stored in its place, so that every client can read it there. */
export interface OutboxEnd {
  readonly id: string
  readonly key?: string | undefined
  readonly state: 'cancelled' | 'discarded' | 'synced'
  /** Of a synced transaction: the position of its last change. */
  readonly sid?: number | undefined
  readonly acceptedEpoch?: string | undefined
  /** The id of the transaction that replaces it. */
  readonly by?: string | undefined
}

export type OutboxEntry = OutboxRecord | OutboxEnd

export interface StoredOutbox {
  /** The transactions, in order. */
  readonly records: readonly OutboxRecord[]
  /** What has become of the last transactions that ended. */
  readonly ends: readonly OutboxEnd[]
  /** Transactions of another life: they were stored after the user had signed out. They are left in place. */
  readonly failed: readonly OutboxRecord[]
  /** Entries that cannot be read, as they are stored. They are left in place. */
  readonly unreadable: readonly StoreValue[]
  /** The last key; empty if nothing is stored. */
  readonly last: string
}

/**
 * The transactions of one identity on disk, in the order in which they became durable, whatever the clocks of the
 * clients say. Each write is one transaction of the store, and is flushed to the disk when it resolves unless it only
 * tells what has become of stored transactions.
 *
 * A new transaction gets the key after the last one. When a transaction ends, its end takes its place, so that no key is
 * given twice: a client that has not heard of the last transactions finds the next key taken, and reads. The last 1 000
 * ends are kept. What could not be stored when it was made keeps its place: its key begins with that of the transaction
 * before it.
 *
 * All but a write of new transactions rejects with a StorageError of code `signed_out`, and changes nothing, once the
 * user has signed out since the database was opened.
 */
export interface OutboxStore {
  /** Resolves with all that is stored, or with what is stored after the key `after`. */
  read(after?: string): Promise<StoredOutbox>
  /** `isAgain`: an earlier call with this change may have succeeded unheard. */
  write(change: OutboxChange, isAgain?: boolean): Promise<OutboxWritten>
  /** Resolves with the transactions that this client has stored after the user had signed out. */
  readLate(): Promise<readonly OutboxRecord[]>
}

/**
 * A change of the outbox, made in one step. Several clients of one identity may hold the same transaction, so each part
 * but `put` says what it may take the place of. If a part is refused, nothing of `put` is stored.
 */
export interface OutboxChange {
  /** New transactions, in order: stored after all others. */
  readonly put?: readonly OutboxRecord[]
  /** The last key that the caller has heard of. */
  readonly after?: string | undefined
  /** Whether the caller hears of all that is stored: new transactions are then stored without a read. */
  readonly hears?: boolean
  /** Stored unless another client has ended them. */
  readonly keep?: readonly OutboxRecord[]
  /** Stored in place of what is still stored of them. */
  readonly update?: readonly OutboxRecord[]
  /** About to be sent: stored unless they are rejected or have ended. */
  readonly send?: readonly OutboxRecord[]
  /** Stored in place of a `cancelled` or `discarded` end. */
  readonly restore?: readonly OutboxRecord[]
  /** Stored in place of transactions: a `cancelled` end only of queued ones. */
  readonly end?: readonly OutboxEnd[]
}

export interface OutboxWritten {
  /** What is now stored, by id. */
  readonly stored: ReadonlyMap<string, OutboxEntry>
  /** What another client has stored of the parts that were refused, by id; `undefined` if nothing is stored of it. */
  readonly refused: ReadonlyMap<string, OutboxEntry | undefined>
}

/** What a change has stored. The other tabs then do the same in memory. */
export type OutboxNews = readonly OutboxEntry[]

/** The end of the transaction `record`. */
export function endOf(
  { id, key, sid, acceptedEpoch }: OutboxRecord,
  state: OutboxEnd['state'],
  by?: string,
): OutboxEnd {
  return { id, key, state, sid, acceptedEpoch, by }
}

export function isEnd(entry: OutboxEntry): entry is OutboxEnd {
  return isEndState(entry.state)
}

function isEndState(state: unknown): state is OutboxEnd['state'] {
  return state === 'cancelled' || state === 'discarded' || state === 'synced'
}

/**
 * The key of the life of the database, once a user has signed out. `meta` has it, too: here, a change of the outbox
 * compares it without another table. It sorts after all entries.
 */
export const lifeKey = '~~'

/** The end of all entries. Behind it, earlier versions noted which transactions had ended. */
const to = '~'

/** The number of ends that are kept: more than the transactions that end unheard by a client. */
const maxEnds = 1_000

/** The key after `last`. Earlier versions stored a transaction under its id, which sorts before all keys. */
export function nextKey(last: string): string {
  return `n${digits(last.startsWith('n') ? Number.parseInt(last.slice(1), 10) + 1 : 1)}`
}

/** What the parts of a change may take the place of; `undefined`: of nothing. */
const records = ['queued', 'sending', 'accepted', 'rejected'] as const
const over = {
  keep: [undefined, ...records],
  update: records,
  send: ['queued', 'sending', 'accepted'],
  restore: ['cancelled', 'discarded'],
  cancelled: ['queued'],
  discarded: [undefined, ...records],
  synced: [undefined, ...records],
} satisfies { readonly [part: string]: readonly (OutboxEntry['state'] | undefined)[] }

type Part = readonly [part: keyof typeof over, entry: OutboxEntry]

/**
 * The outbox in `connection`, whose database is in the life `life`. The fence does not apply: every client that has the
 * database open may store what its user writes.
 */
export function openOutbox(connection: StoreConnection, life?: string): OutboxStore {
  const writing = { tables: ['outbox'], mode: 'write', durability: 'strict' } as const
  const transact = <T>(options: TransactionOptions, body: (tx: StoreTransaction) => Promise<T>) =>
    connection.transaction(options, async (tx) => {
      const [, result] = await Promise.all([refuseOtherLife(tx, life), body(tx)])
      return result
    })
  const textOf = (entry: OutboxEntry) => JSON.stringify({ ...entry, life })
  /** Stores `put` after the key `after`, and resolves with what is stored; with `undefined` if that place is taken. */
  const add = async (put: readonly OutboxRecord[], after: string) => {
    const added = keyed(put, after)
    try {
      // Without a read, the browser can commit at once, so the write survives even if the page is just closing.
      await connection.transaction(writing, (tx) => {
        for (const record of added) tx.add('outbox', record.key, textOf(record))
      })
      return byId(added)
    } catch (error) {
      if (toStorageError(error).code !== 'fenced') throw error
      return undefined
    }
  }
  const change = async (
    tx: StoreTransaction,
    put: readonly OutboxRecord[],
    parts: readonly Part[],
    heard: string,
  ): Promise<OutboxWritten> => {
    let entries: Promise<readonly OutboxEntry[]> | undefined
    /** What is stored of a transaction, and where that is or can be. */
    const find = async ({ id, key }: OutboxEntry) => {
      const value = key === undefined ? undefined : await tx.get('outbox', key)
      const there = readEntry(value)
      if (there?.id === id) return { there, key }
      entries ??= entriesIn(tx)
      const elsewhere = (await entries).find((entry) => entry.id === id)
      return { there: elsewhere, key: elsewhere?.key ?? (value === undefined ? key : `${key}/${id}`) }
    }
    const [stored, ...found] = await Promise.all([
      lastKey(tx),
      ...parts.map(async ([part, entry]) => ({ part, entry, ...(await find(entry)) })),
    ])
    const lost = found.filter(({ part, entry, there }) => {
      const states: readonly unknown[] = over[part]
      return !states.includes(there?.state) && !isSameEnd(entry, there)
    })
    const refused = new Map(lost.map(({ entry, there }) => [entry.id, there]))
    if (put.length > 0 && refused.size > 0) return { stored: new Map(), refused }
    // The database may have lost what was heard of.
    const last = stored > heard ? stored : heard
    const added = keyed(put, last)
    let next = added.at(-1)?.key ?? last
    const changed = found.flatMap(({ entry, key }) => {
      if (refused.has(entry.id)) return []
      if (key !== undefined) return { ...entry, key }
      if (isEnd(entry)) return []
      next = nextKey(next)
      return { ...entry, key: next }
    })
    for (const entry of [...added, ...changed]) tx.put('outbox', entry.key, textOf(entry))
    return { stored: byId([...added, ...changed]), refused }
  }
  /** Removes all but the last ends, and what earlier versions noted. */
  const trim = () =>
    connection.transaction({ tables: ['outbox'], mode: 'write' }, async (tx) => {
      const ends = (await entriesIn(tx)).filter(isEnd)
      for (const { key = '' } of ends.slice(0, -maxEnds)) tx.delete('outbox', key)
      tx.delete('outbox', { from: to, to: lifeKey })
    })
  return {
    read: async (after) => {
      const stored = await transact({ ...writing, mode: 'read' }, (tx) => readOutbox(tx, life, after))
      if (stored.ends.length > 2 * maxEnds) trim().catch(() => {})
      return stored
    },
    readLate: () =>
      connection.transaction({ tables: ['outbox'], mode: 'read' }, async (tx) => {
        const [now, { records }] = await Promise.all([readLife(tx), readOutbox(tx, life)])
        return now === undefined || now === life ? [] : records
      }),
    write: async ({ put = [], after = '', hears, end = [], ...rest }, isAgain) => {
      const parts = [
        ...(['keep', 'update', 'send', 'restore'] as const).flatMap((part) =>
          (rest[part] ?? []).map((entry): Part => [part, entry]),
        ),
        ...end.map((entry): Part => [entry.state, entry]),
      ]
      const again = isAgain ? put.map((entry): Part => ['keep', entry]) : []
      const body = (tx: StoreTransaction) => change(tx, isAgain ? [] : put, [...again, ...parts], after)
      if (parts.length === 0) {
        const stored = hears && !isAgain ? await add(put, after) : undefined
        // What is written in an earlier life is stored, and never sent.
        return stored ? { stored, refused: new Map() } : connection.transaction(writing, body)
      }
      // If a power cut takes these back, the server or the data brings them again.
      const isKnownElsewhere = parts.every(
        ([part]) => part === 'update' || part === 'send' || part === 'synced',
      )
      return transact({ ...writing, durability: isKnownElsewhere ? 'relaxed' : 'strict' }, body)
    },
  }
}

/** `put` with the keys after `last`. */
function keyed(put: readonly OutboxRecord[], last: string) {
  let key = last
  return put.map((record) => {
    key = nextKey(key)
    return { ...record, key }
  })
}

function byId(entries: readonly OutboxEntry[]): ReadonlyMap<string, OutboxEntry> {
  return new Map(entries.map((entry) => [entry.id, entry]))
}

/** Whether `there` is what an earlier try to store `entry` has left. */
function isSameEnd(entry: OutboxEntry, there: OutboxEntry | undefined): boolean {
  return (
    isEnd(entry) &&
    there !== undefined &&
    isEnd(there) &&
    there.state === entry.state &&
    there.by === entry.by
  )
}

async function lastKey(tx: StoreTransaction): Promise<string> {
  const [key = ''] = await tx.keys('outbox', { to, reverse: true, limit: 1 })
  return key
}

async function entriesIn(tx: StoreTransaction): Promise<readonly OutboxEntry[]> {
  return (await tx.values('outbox', { to })).flatMap((value) => readEntry(value) ?? [])
}

/** All that is stored, or what is stored after the key `last`, in the life `life`. */
export async function readOutbox(
  tx: StoreTransaction,
  life: string | undefined,
  last = '',
): Promise<StoredOutbox> {
  const [end, stored] = await Promise.all([lastKey(tx), tx.values('outbox', { from: after(last), to })])
  const read = stored.map((value) => ({ value, entry: readEntry(value) }))
  const entries = read.flatMap(({ entry }) => entry ?? [])
  const records = entries.flatMap((entry) => (isEnd(entry) ? [] : entry))
  return {
    records: records.filter(isOf(life)),
    ends: entries.filter(isEnd),
    failed: records.filter((record) => !isOf(life)(record)),
    unreadable: read.flatMap(({ value, entry }) => (entry ? [] : [value])),
    last: end,
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

function readEntry(text: StoreValue | undefined): OutboxEntry | undefined {
  const value = readJson(text)
  return isEntry(value) ? { ...value, key: value.key ?? value.id } : undefined
}

function isEntry(value: unknown): value is OutboxEntry {
  return (
    isRecord(value) || (isObject(value) && isName(value.id) && isName(value.key) && isEndState(value.state))
  )
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
