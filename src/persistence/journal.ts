import { StorageError } from '../base/errors.ts'
import type { HistoryPosition } from '../protocol/bootstrap.ts'
import type { DeltaFrame } from '../protocol/delta.ts'
import { isOp, type RowOp } from '../protocol/fold.ts'
import { isOtherEpoch, isSid } from '../protocol/guards.ts'
import { isObject } from '../protocol/json.ts'
import type { StoreTransaction, StoreValue, Table } from '../storage/store.ts'
import type { Connection } from './connection.ts'
import { after, type Head, journalKey, metaKeys, readHead } from './format.ts'
import { parseArray } from './pages.ts'
import { readRepair, writeRepair } from './repair.ts'
import type { JournalEntry, JournalOp, StoredChanges, StoredPosition } from './stored-data.ts'

/**
 * The size that each record adds to the length of its text, in UTF-16 units, so that a journal of empty deltas is
 * folded at some point, too.
 */
const recordUnits = 500

/** The end of the stored data after an append. */
interface Tail {
  readonly sid: number
  readonly epoch: string | undefined
  /** The last key of the journal. */
  readonly last: string | undefined
  /** The value of `database.writes` after the append. */
  readonly writes: number
}

export interface JournalWriter {
  /**
   * Stores one delta at the time `at`, in ms since the epoch, and resolves with its size in UTF-16 units. Rejects with
   * a StorageError of code `broken_link` if the delta does not continue the stored data.
   */
  append(entry: JournalEntry, at: number): Promise<number>
}

/** Returns a writer that appends to the journal of `database`. */
export function journalOf(database: Connection): JournalWriter {
  let tail: Tail | undefined
  /**
   * The end of the journal as this client last wrote it, if `entry` continues it and this client has written nothing
   * since. If another client has written, it has raised the fence, and this append is refused. This saves a read: a
   * quarter of the time of a small append.
   */
  const knownTailBefore = ({ since, sid, epoch, owesRepair }: JournalEntry): Tail | undefined => {
    if (tail?.writes !== database.writes || since !== tail.sid || sid <= since || owesRepair) return undefined
    return epoch === undefined || epoch === tail.epoch ? tail : undefined
  }
  return {
    async append(entry, at) {
      const { since, sid, ops, ends = [] } = entry
      const tables: readonly Table[] = ends.length > 0 ? ['journal', 'outbox'] : ['journal']
      const own = new Set(ends.map(({ id }) => id))
      const isEmpty = sid === since && ops.length === 0
      const text = JSON.stringify(ops.map((op) => withoutFrameFields(op, own)))
      const record = { since, sid, at, ops: text }
      const knownTail = knownTailBefore(entry)
      const stored = database.write(tables, async (tx) => {
        const { epoch, last } = knownTail ?? (await linkTo(tx, entry))
        for (const { key = '', ...rest } of ends) tx.put('outbox', key, JSON.stringify({ ...rest, key }))
        if (isEmpty) return { epoch, last }
        const key = journalKey(last)
        tx.put('journal', key, record)
        return { epoch, last: key }
      })
      const { writes } = database
      tail = { ...(await stored), sid, writes }
      return isEmpty ? 0 : recordUnits + text.length
    },
  }
}

/**
 * Throws if `entry` does not continue the stored data. Resolves with the last key of the journal and the epoch after
 * `entry`.
 */
async function linkTo(tx: StoreTransaction, entry: JournalEntry): Promise<Pick<Tail, 'epoch' | 'last'>> {
  const { since, sid } = entry
  const end = await readEnd(tx)
  if (end?.sid !== since || sid < since) throw brokenLink(entry)
  const { head, last } = end
  const { epoch = head.epoch } = entry
  if (epoch !== undefined && epoch !== head.epoch) tx.put('meta', metaKeys.head, { ...head, epoch })
  if (entry.owesRepair) writeRepair(tx, { ...(await readRepair(tx)), owed: true })
  return { epoch, last }
}

/** The end of the journal; `undefined` if there is no data or the last record cannot be read. */
async function readEnd(tx: StoreTransaction) {
  const [stored, [last]] = await Promise.all([
    tx.get('meta', metaKeys.head),
    tx.keys('journal', { reverse: true, limit: 1 }),
  ])
  const head = readHead(stored)
  if (!head) return undefined
  if (last === undefined) return { head, last, sid: head.base }
  const record = await tx.get('journal', last)
  return isObject(record) && isSid(record.sid) ? { head, last, sid: record.sid } : undefined
}

/**
 * Resolves with the position at the end of the stored data; with `undefined` if there is no data of models version
 * `version`.
 */
export async function readPosition(
  tx: StoreTransaction,
  version: number,
): Promise<StoredPosition | undefined> {
  const end = await readEnd(tx)
  const { version: stored, epoch, copy } = end?.head ?? {}
  return end && stored === version ? { sid: end.sid, epoch, copy } : undefined
}

/** See `Data.since`. `version`: the version of the models. */
export async function readSince(
  tx: StoreTransaction,
  version: number,
  { sid: since, epoch }: HistoryPosition,
  copy: string | undefined,
): Promise<StoredChanges | undefined> {
  const head = readHead(await tx.get('meta', metaKeys.head))
  if (head?.version !== version || isOtherEpoch({ epoch }, head.epoch) || head.base > since) return undefined
  if (copy !== undefined && head.copy !== copy) return undefined
  const frames: DeltaFrame[] = []
  const { sid } = await readJournal(tx, head, (ops, at) => {
    if (at > since) for (const op of ops) frames.push({ ...op, sid: at })
  })
  return { sid: Math.max(sid, since), epoch: head.epoch, copy: head.copy, frames }
}

function brokenLink({ since, sid }: JournalEntry): StorageError {
  const message = `The delta from ${since} to ${sid} does not continue the stored data.`
  return new StorageError('broken_link', message)
}

/**
 * The op without the fields that belong to its frame only. It keeps a `tx` that `own` has: another client that reads
 * the journal learns from it which changes the transaction made.
 */
function withoutFrameFields(op: JournalOp, own: ReadonlySet<string>): JournalOp {
  const { t, id } = op
  const tx = op.tx !== undefined && own.has(op.tx) ? op.tx : undefined
  if (op.op === 'd') return { op: 'd', t, id, tx }
  return op.op === 'u' ? { op: 'u', t, id, p: op.p, tx } : { op: 'i', t, id, v: op.v, p: op.p, tx }
}

/**
 * The number of records that are read at once. One by one takes twice as long; all at once blocks the thread for long.
 */
const batchRecords = 16

/** The approximate amount of text that is parsed in one turn, in UTF-16 units. */
const turnUnits = 256_000

export interface Journal {
  /** The position at the end of the journal. */
  readonly sid: number
  /** When the last record was stored, or the head if there is no record; in ms since the epoch. */
  readonly at: number
  /** The length of all texts plus a constant for each record, in UTF-16 units. */
  readonly size: number
  /** The first key after the last valid record. */
  readonly to: string
  /** The key of the first record that cannot be read or does not continue the record before it. */
  readonly brokenAt: string | undefined
}

/**
 * Reads the journal that continues `head`, and passes the ops of each record, and the position after them, to `visit`,
 * in short turns.
 */
export async function readJournal(
  tx: StoreTransaction,
  head: Head,
  visit: (ops: readonly RowOp[], sid: number) => void,
): Promise<Journal> {
  let { base: sid, at } = head
  let size = 0
  let turn = 0
  let from = ''
  for (;;) {
    const range = { from, limit: batchRecords }
    const [keys, values] = await Promise.all([tx.keys('journal', range), tx.values('journal', range)])
    for (const [index, key] of keys.entries()) {
      const record = readRecord(values[index])
      if (record?.since !== sid) return { sid, at, size, to: from, brokenAt: key }
      sid = record.sid
      visit(record.ops, sid)
      at = record.at
      size += record.size
      from = after(key)
      turn += record.size
      if (turn < turnUnits) continue
      // Yield to other work. The read keeps the transaction open.
      await tx.get('journal', from)
      turn = 0
    }
    if (keys.length < batchRecords) return { sid, at, size, to: from, brokenAt: undefined }
  }
}

function readRecord(value: StoreValue | undefined) {
  if (!isObject(value)) return undefined
  const { since, sid, at, ops: text } = value
  const ops = parseArray(text)
  if (!isSid(since) || !isSid(sid) || sid < since || !ops?.every(isRowOp)) return undefined
  if (typeof at !== 'number') return undefined
  return { since, sid, at, ops, size: recordUnits + String(text).length }
}

function isRowOp(value: unknown): value is RowOp {
  return isOp(value) && (value.op !== 'i' || value.v === undefined || typeof value.v === 'number')
}
