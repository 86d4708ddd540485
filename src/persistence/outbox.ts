import { toStorageError } from '../base/errors.ts'
import { isOp } from '../protocol/fold.ts'
import { isName, isPayload, isSid } from '../protocol/guards.ts'
import { isObject, type Payload, readJson } from '../protocol/json.ts'
import type { Rejection, TxOp } from '../protocol/tx.ts'
import type { StoreTransaction, StoreValue, TransactionOptions } from '../storage/store.ts'
import type { Connection } from './connection.ts'
import { after, digits } from './format.ts'
import { type Caller, lifeKey, signedOut } from './meta.ts'

/** A transaction in the outbox table. When the transaction has ended, an {@link OutboxEnd} replaces it. */
export interface OutboxRecord {
  readonly id: string
  /**
   * The key in the outbox table. Keys sort in the order of the transactions. `undefined` until the transaction is
   * stored.
   */
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
  /** The ids of the transactions that this one requires: if one of them is undone, so is this one. */
  readonly requires: readonly string[]
  /** The version of the models for which the ops are written. */
  readonly version: number
  readonly label?: string | undefined
  readonly group?: string | undefined
  readonly coalesce?: string | undefined
  /**
   * Whether the transaction is an undo or a redo: its ops have `was`. It is not sent before the data contains the
   * change that it takes back.
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
  /** Of an accepted transaction: whether the server names transactions in frames, so that none are those of others. */
  readonly hasTx?: boolean | undefined
  /** Whether the data has shown the outcome. The transaction is then never sent again, even after a reset. */
  readonly seen?: boolean | undefined
  /** Of a rejected transaction: the reason. */
  readonly error?: Rejection | undefined
  /** The user who made the transaction, as the service names the user; `undefined` if that was not known. */
  readonly caller?: string | undefined
  /** The life of the database in which the transaction was stored: see `Connection`. */
  readonly life?: string | undefined
}

export interface RecordImage {
  readonly t: string
  readonly id: string
  /** The fields; `null` if there was no record. */
  readonly p: Payload | null
}

/** How a transaction ended. Stored under the key of the transaction, so that every client can read it there. */
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
  /** The ends of the last transactions. */
  readonly ends: readonly OutboxEnd[]
  /** Transactions of another life: a client stored them after the user had signed out. They stay in the table. */
  readonly failed: readonly OutboxRecord[]
  /** Entries that cannot be read, as they are stored. They stay in the table. */
  readonly unreadable: readonly StoreValue[]
  /** The last key; empty if nothing is stored. */
  readonly last: string
}

/**
 * The outbox table: the transactions of one identity, in the order in which they became durable, whatever the clocks of
 * the clients say. Each write is one transaction of the store. When it resolves, it is flushed to the disk, unless the
 * server or the data would bring all of it again.
 *
 * A new transaction gets the key after the last one. When a transaction ends, its end is stored under its key, so that
 * no key is used twice: a client that has missed the last transactions finds the next key taken, and reads. The last
 * thousand ends are kept. A transaction that could not be stored at first, and was sent from memory, gets a key that
 * begins with the key of the transaction before it.
 *
 * Once the user has signed out since the database was opened, `read` and every change of stored transactions reject
 * with a StorageError of code `signed_out`, and change nothing.
 */
export interface OutboxStore {
  /** Resolves with all entries, or with those after the key `after` and those that were stored late. */
  read(after?: string): Promise<StoredOutbox>
  /** `isAgain`: an earlier call with this change failed, but may have stored it all the same. */
  write(change: OutboxChange, isAgain?: boolean): Promise<OutboxWritten>
  /** Resolves with the transactions that this client has stored after the user had signed out. */
  readLate(): Promise<readonly OutboxRecord[]>
}

/**
 * A change of the outbox, made in one step. Several clients may change the same transaction, so each part but `put` is
 * refused if the stored entry is in a state that the part must not replace. If a part is refused, `put` is not stored.
 */
export interface OutboxChange {
  /** New transactions, in order: stored after all others. */
  readonly put?: readonly OutboxRecord[]
  /** The last key that the caller has heard of. */
  readonly after?: string | undefined
  /** Whether other clients notify the caller of all their changes: new transactions are then stored without a read. */
  readonly hears?: boolean
  /** Stored unless they have ended, or the stored entry is in a later state. */
  readonly keep?: readonly OutboxRecord[]
  /** Stored if they are in the table and have not ended. */
  readonly update?: readonly OutboxRecord[]
  /** About to be sent: stored if they are in the table, and neither rejected nor ended. */
  readonly send?: readonly OutboxRecord[]
  /** Stored in place of a `cancelled` or `discarded` end. */
  readonly restore?: readonly OutboxRecord[]
  /** The ends of transactions that were taken back: stored unless the server may have the transaction. */
  readonly undone?: readonly OutboxEnd[]
  /** Stored in place of their transactions. A `cancelled` end replaces a queued transaction only. */
  readonly end?: readonly OutboxEnd[]
}

export interface OutboxWritten {
  /** The entries that the change has stored, by id. */
  readonly stored: ReadonlyMap<string, OutboxEntry>
  /** The stored entries for which parts were refused, by id; `undefined` if there is no such entry. */
  readonly refused: ReadonlyMap<string, OutboxEntry | undefined>
}

/** The entries that a change has stored. The other tabs apply them in memory. */
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

/** The keys of all entries sort before this one. */
const to = '~'

/** The number of ends that are kept. While a client hears nothing, fewer transactions should end. */
export const maxEnds = 1_000

/** The key after `last`, which is empty if nothing is stored. */
export function nextKey(last: string): string {
  return `n${digits((Number.parseInt(last.slice(1), 10) || 0) + 1)}`
}

/** The states of the stored entry that each part may replace. `undefined`: there is no entry. */
const records = ['queued', 'sending', 'accepted', 'rejected'] as const
const over = {
  keep: [undefined, ...records],
  update: records,
  send: ['queued', 'sending', 'accepted'],
  restore: ['cancelled', 'discarded'],
  cancelled: ['queued'],
  discarded: [undefined, ...records],
  synced: [undefined, ...records],
  undone: [undefined, 'queued', 'rejected'],
} satisfies { readonly [part: string]: readonly (OutboxEntry['state'] | undefined)[] }

type Part = readonly [part: keyof typeof over, entry: OutboxEntry]

/**
 * Returns the outbox of a database. The fence does not apply to it: every client may store what its user writes.
 * `caller`: names that user. While there is no database, nothing is stored or read.
 */
export function openOutbox(connection: Connection, caller: Caller): OutboxStore {
  const writing = { tables: ['outbox'], mode: 'write', durability: 'strict' } as const
  const transact = <T>(options: TransactionOptions, body: (tx: StoreTransaction) => Promise<T>) =>
    connection.run(options, async (tx) => {
      const [, result] = await Promise.all([refuseOtherLife(tx, connection.life), body(tx)])
      return result
    })
  const textOf = (entry: OutboxEntry) => {
    const { life } = connection
    return JSON.stringify(
      isEnd(entry) ? { ...entry, life } : { ...entry, life, caller: entry.caller ?? caller() },
    )
  }
  /**
   * Stores `put` under the keys after `after`. Resolves with the stored records; with `undefined` if a key is taken.
   */
  const add = async (put: readonly OutboxRecord[], after: string) => {
    const added = keyed(put, after)
    try {
      // Without a read, the browser can commit at once, so the write survives even if the page is just closing.
      await connection.run(writing, (tx) => {
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
    changes: readonly Part[],
    isAgain = false,
  ): Promise<OutboxWritten> => {
    const parts = [...(isAgain ? put : []).map((entry): Part => ['keep', entry]), ...changes]
    let entries: Promise<readonly OutboxEntry[]> | undefined
    /**
     * The stored entry of a transaction, and its key. Without an entry: a free key at the place of the transaction, if
     * its place is known.
     */
    const find = async ({ id, key }: OutboxEntry) => {
      const value = key === undefined ? undefined : await tx.get('outbox', key)
      const there = readEntry(value)
      if (there?.id === id) return { there, key }
      entries ??= entriesIn(tx)
      const elsewhere = (await entries).find((entry) => entry.id === id)
      return { there: elsewhere, key: elsewhere?.key ?? (value === undefined ? key : `${key}/${id}`) }
    }
    const [last, ...found] = await Promise.all([
      lastKey(tx),
      ...parts.map(async ([part, entry]) => ({ part, entry, ...(await find(entry)) })),
    ])
    const lost = found.filter(({ part, entry, there }) => {
      const states: readonly unknown[] = over[part]
      return isOld(entry, there) || (!states.includes(there?.state) && !isSameEnd(entry, there))
    })
    const refused = new Map(lost.map(({ entry, there }) => [entry.id, there]))
    const isRefused = lost.some(({ part }) => part !== 'keep')
    if (put.length > 0 && isRefused) return { stored: new Map(), refused }
    const added = keyed(isAgain ? [] : put, last)
    let next = added.at(-1)?.key ?? last
    let place = ''
    const changed = found.flatMap(({ entry, there, key }) => {
      if (refused.has(entry.id)) return []
      if (key !== undefined) {
        if (there && key > place) place = key
        // A write without an answer may have stored an earlier transaction after the place of this one.
        return { ...entry, key: there || key > place ? key : `${place}/${entry.id}` }
      }
      next = nextKey(next)
      return { ...entry, key: next }
    })
    for (const entry of [...added, ...changed]) tx.put('outbox', entry.key, textOf(entry))
    return { stored: byId([...added, ...changed]), refused }
  }
  /** Removes all ends but the last `maxEnds`. */
  const trim = () =>
    connection.run({ tables: ['outbox'], mode: 'write' }, async (tx) => {
      const ends = (await entriesIn(tx)).filter(isEnd)
      for (const { key = '' } of ends.slice(0, -maxEnds)) tx.delete('outbox', key)
    })
  return {
    read: async (after) => {
      const isThere = connection.isOpen && !connection.isGone
      if (!isThere) return { records: [], ends: [], failed: [], unreadable: [], last: '' }
      const stored = await transact({ ...writing, mode: 'read' }, (tx) =>
        readOutbox(tx, connection.life, after),
      )
      if (stored.ends.length > 2 * maxEnds) trim().catch(() => {})
      return stored
    },
    readLate: async () => {
      if (!connection.isOpen) return []
      return connection.run({ tables: ['outbox'], mode: 'read' }, async (tx) => {
        const { life } = connection
        const [now, { records }] = await Promise.all([readLife(tx), readOutbox(tx, life)])
        return now === undefined || now === life ? [] : records.filter((record) => record.life !== now)
      })
    },
    write: async ({ put = [], after = '', hears, end = [], ...rest }, isAgain) => {
      if (!connection.isOpen) return { stored: new Map(), refused: new Map() }
      const parts = [
        ...(['keep', 'update', 'send', 'restore', 'undone'] as const).flatMap((part) =>
          (rest[part] ?? []).map((entry: OutboxEntry): Part => [part, entry]),
        ),
        ...end.map((entry): Part => [entry.state, entry]),
      ]
      const body = (tx: StoreTransaction) => change(tx, put, parts, isAgain)
      // Without a life, a record would be sent in any.
      if (parts.length === 0 && connection.life !== undefined) {
        const stored = hears && !isAgain ? await add(put, after) : undefined
        // No check of the life is needed: a record of an earlier life may be stored, since nothing sends it.
        return stored ? { stored, refused: new Map() } : connection.run(writing, body)
      }
      // If a power cut undoes these changes, the server or the data brings them again.
      const isKnownElsewhere =
        put.length === 0 && parts.every(([part]) => part === 'update' || part === 'send' || part === 'synced')
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

/** Whether `entry` is the state before `there`: its client has missed what happened to the transaction. */
function isOld({ state }: OutboxEntry, there: OutboxEntry | undefined): boolean {
  if (!there || isEnd(there)) return false
  return state === 'queued' ? there.state !== state : state === 'sending' && there.state === 'rejected'
}

/** Whether `there` equals `entry`, since an earlier try has stored it. */
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

/** The entries up to the key `last` that were stored later than those around them: see {@link OutboxStore}. */
async function lateIn(tx: StoreTransaction, last: string): Promise<readonly StoreValue[]> {
  const keys = last === '' ? [] : await tx.keys('outbox', { to: after(last) })
  const late = keys.filter((key) => key.includes('/') && key <= last)
  const values = await Promise.all(late.map((key) => tx.get('outbox', key)))
  return values.flatMap((value) => value ?? [])
}

/** Reads the entries after the key `last`, and those that were stored late. Records of another life than `life` count as `failed`. */
export async function readOutbox(
  tx: StoreTransaction,
  life: string | undefined,
  last = '',
): Promise<StoredOutbox> {
  const [end, late, stored] = await Promise.all([
    lastKey(tx),
    lateIn(tx, last),
    tx.values('outbox', { from: after(last), to }),
  ])
  const read = [...late, ...stored].map((value) => ({ value, entry: readEntry(value) }))
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

/**
 * Whether a record was stored in `life`. A record without a life was stored before the database had one. A client without
 * a life was opened before that, and takes all records.
 */
function isOf(life: string | undefined) {
  return (record: OutboxRecord) => record.life === undefined || life === undefined || record.life === life
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

function readEntry(text: StoreValue | undefined): OutboxEntry | undefined {
  const value = readJson(text)
  return isEntry(value) ? value : undefined
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
    records.some((one) => one === state) &&
    (state !== 'accepted' || isSid(value.sid)) &&
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
