import { isName, isPayload, isSid } from '../protocol/guards.ts'
import { isObject, type Payload } from '../protocol/json.ts'
import type { Rejection, TxOp } from '../protocol/tx.ts'
import type { StoreConnection, StoreTransaction, StoreValue } from '../storage/store.ts'

/** A transaction as it is kept, until the server's answer to it has come back in the data. */
export interface OutboxRecord {
  /** Its order is the order of the transactions. */
  readonly id: string
  /** `sending`: the server may have it. */
  readonly state: 'queued' | 'sending' | 'accepted' | 'rejected'
  /** When it was made, in ms since the epoch. */
  readonly at: number
  /** The position on top of which it was made. */
  readonly since: number
  readonly ops: readonly TxOp[]
  /** As which the server may have it: its ops before each migration since it was sent first. */
  readonly earlier?: readonly (readonly TxOp[])[] | undefined
  /** The records that it touches, as they were shown before. */
  readonly before: readonly RecordImage[]
  readonly bases: readonly string[]
  readonly requires: readonly string[]
  /** The version of the models that its ops are written for. */
  readonly version: number
  readonly label?: string | undefined
  readonly group?: string | undefined
  readonly coalesce?: string | undefined
  /** The rejected transaction in whose place it stands. */
  readonly retryOf?: string | undefined
  /** Of one that was accepted. */
  readonly sid?: number | undefined
  /** Of one that was rejected. */
  readonly error?: Rejection | undefined
}

export interface RecordImage {
  readonly t: string
  readonly id: string
  /** `null`: there was none. */
  readonly p: Payload | null
}

/** What is found when the outbox is opened. */
export interface StoredOutbox {
  readonly records: readonly OutboxRecord[]
  /** What cannot be read, as it is stored. It is left where it is. */
  readonly unreadable: readonly StoreValue[]
}

/** The transactions of one identity on disk. Each write is one transaction of the store, and flushed when it resolves. */
export interface OutboxStore {
  read(): Promise<StoredOutbox>
  /** Gives `false`, and changes nothing, where one of `ifQueued` is not there in that state any more. */
  write(change: OutboxChange): Promise<boolean>
}

export interface OutboxChange {
  readonly put?: readonly OutboxRecord[]
  readonly remove?: readonly string[]
  readonly ifQueued?: readonly string[]
}

/** The outbox in `connection`. Its writes are not fenced: whoever has the database open may add what its user did. */
export function openOutbox(connection: StoreConnection): OutboxStore {
  const within = <T>(mode: 'read' | 'write', body: (tx: StoreTransaction) => Promise<T>) =>
    connection.transaction({ tables: ['outbox'], mode, durability: 'strict' }, body)
  return {
    read: () =>
      within('read', async (tx) => {
        const stored = await tx.values('outbox')
        const read = stored.map((value) => ({ value, record: readRecord(value) }))
        return {
          records: read.flatMap(({ record }) => record ?? []),
          unreadable: read.filter(({ record }) => !record).map(({ value }) => value),
        }
      }),
    write: ({ put = [], remove = [], ifQueued = [] }) =>
      within('write', async (tx) => {
        const stored = await Promise.all(ifQueued.map((id) => tx.get('outbox', id)))
        if (stored.some((value) => readRecord(value)?.state !== 'queued')) return false
        for (const record of put) tx.put('outbox', record.id, JSON.stringify(record))
        for (const id of remove) tx.delete('outbox', id)
        return true
      }),
  }
}

function readRecord(text: StoreValue | undefined): OutboxRecord | undefined {
  if (typeof text !== 'string') return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isRecord(value: unknown): value is OutboxRecord {
  if (!isObject(value)) return false
  const { id, state, at, since, ops, earlier, before, bases, requires, version } = value
  return (
    typeof id === 'string' &&
    (state === 'queued' ||
      state === 'sending' ||
      state === 'rejected' ||
      (state === 'accepted' && isSid(value.sid))) &&
    typeof at === 'number' &&
    isSid(since) &&
    isOps(ops) &&
    (earlier === undefined || isListOf(earlier, isOps)) &&
    isListOf(before, isImage) &&
    isListOf(bases, isName) &&
    isListOf(requires, isName) &&
    typeof version === 'number'
  )
}

function isListOf<T>(value: unknown, isItem: (item: unknown) => item is T): value is readonly T[] {
  return Array.isArray(value) && value.every(isItem)
}

function isOps(value: unknown): value is readonly TxOp[] {
  return isListOf(value, isOp)
}

function isOp(value: unknown): value is TxOp {
  if (!isObject(value) || !isName(value.t) || !isName(value.id)) return false
  return value.op === 'd' || ((value.op === 'i' || value.op === 'u') && isPayload(value.p))
}

function isImage(value: unknown): value is RecordImage {
  return isObject(value) && isName(value.t) && isName(value.id) && (value.p === null || isPayload(value.p))
}
