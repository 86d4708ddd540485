import { StorageError } from '../base/errors.ts'
import { isOp, type RowOp } from '../protocol/fold.ts'
import { isSid } from '../protocol/guards.ts'
import { isObject } from '../protocol/json.ts'
import type { KeySpan, StoreTransaction, StoreValue } from '../storage/store.ts'
import type { JournalEntry } from './database.ts'
import type { FencedConnection } from './fence.ts'
import { after, type Head, journalKey, journalStart, metaKeys, readHead, taken } from './format.ts'
import { parseArray } from './pages.ts'
import { readRepair, writeRepair } from './repair.ts'

/** What a record counts beside its text, in units of text: a journal of empty deltas is to be folded, too. */
const recordUnits = 500

/** What is stored, as an append has left it. */
interface Tail {
  readonly sid: number
  readonly epoch: string | undefined
  /** The last key of the journal. */
  readonly last: string | undefined
  /** How many writes had been begun by then. */
  readonly writes: number
}

export interface JournalWriter {
  /** Stores one delta of the moment `at`, if it follows from what is stored. Resolves with what it adds to the size. */
  append(entry: JournalEntry, at: number): Promise<number>
}

/** The journal of `database`, to append to. */
export function journalOf(database: FencedConnection): JournalWriter {
  let tail: Tail | undefined
  /**
   * Where the journal ends, if that is where the entry begins and nothing was written since. By its fence, the database is
   * nobody else's to write, so nothing need be read again, which is a third of a small append.
   */
  const knownBefore = ({ since, sid, epoch, owesRepair }: JournalEntry): Tail | undefined => {
    if (tail?.writes !== database.writes || since !== tail.sid || sid <= since || owesRepair) return undefined
    return epoch === undefined || epoch === tail.epoch ? tail : undefined
  }
  return {
    async append(entry, at) {
      const { since, sid, ops } = entry
      const moves = sid > since
      const text = JSON.stringify(ops.map(bare))
      const record = { since, sid, at, ops: text }
      const known = knownBefore(entry)
      const stored = known
        ? database.add(known.last, record).then((last) => ({ ...known, last }))
        : database.write(['journal'], async (tx) => {
            const { epoch, last } = await link(tx, entry)
            if (!moves) return { epoch, last }
            const key = journalKey(database.fence, last)
            tx.put('journal', key, record)
            return { epoch, last: key }
          })
      const { writes } = database
      tail = { ...(await stored), sid, writes }
      return moves ? recordUnits + text.length : 0
    },
  }
}

/** Refuses `entry` where it does not follow from what is stored. Gives where that ends, and the epoch from now on. */
async function link(tx: StoreTransaction, entry: JournalEntry): Promise<Pick<Tail, 'epoch' | 'last'>> {
  const { since, sid, ops } = entry
  const end = await readEnd(tx)
  if (end?.sid !== since || sid < since || (sid === since && ops.length > 0)) throw brokenLink(entry)
  const { head, last } = end
  const { epoch = head.epoch } = entry
  if (epoch !== undefined && epoch !== head.epoch) tx.put('meta', metaKeys.head, { ...head, epoch })
  if (entry.owesRepair) writeRepair(tx, { ...(await readRepair(tx)), owed: true })
  return { epoch, last }
}

/** Where the journal ends; `undefined` where there are no data, or its last record cannot be read. */
async function readEnd(tx: StoreTransaction) {
  const lastIn = async (span: KeySpan) => (await tx.keys('journal', { ...span, reverse: true, limit: 1 }))[0]
  const [stored, last] = await Promise.all([tx.get('meta', metaKeys.head), lastIn({})])
  const head = readHead(stored)
  if (!head) return undefined
  const start = journalStart(head.generation)
  for (let key = last; key !== undefined && key >= start; key = await lastIn({ to: key })) {
    const record = await tx.get('journal', key)
    if (record === taken) continue
    return isObject(record) && isSid(record.sid) ? { head, last, sid: record.sid } : undefined
  }
  return { head, last, sid: head.base }
}

function brokenLink({ since, sid }: JournalEntry): StorageError {
  const what = `What is stored does not end at ${since}, where the delta to ${sid} begins`
  return new StorageError('broken_link', `${what}: a snapshot is fetched in its place.`)
}

/** Without what only the frame of an op says. */
function bare(op: RowOp): RowOp {
  const { t, id } = op
  if (op.op === 'd') return { op: 'd', t, id }
  return op.op === 'u' ? { op: 'u', t, id, p: op.p } : { op: 'i', t, id, v: op.v, p: op.p }
}

/** Reading one by one takes twice as long; reading all at once is one long turn. */
const batchRecords = 16

/** So much text is parsed in one turn, in UTF-16 units. */
const turnUnits = 256_000

export interface Journal {
  /** How far it reaches. */
  readonly sid: number
  /** When its last record was stored, or the head where there is none. */
  readonly at: number
  /** The length of its texts, with something for each record. */
  readonly size: number
  /** Where its last record is followed by another. */
  readonly to: string
  /** The key of the first record that cannot be read, or does not follow from the one before. */
  readonly brokenAt: string | undefined
}

/** Reads the journal that builds on `head`, its ops record by record, in short turns. */
export async function readJournal(
  tx: StoreTransaction,
  head: Head,
  visit: (ops: readonly RowOp[]) => void,
): Promise<Journal> {
  let { base: sid, at } = head
  let size = 0
  let turn = 0
  let from = journalStart(head.generation)
  for (;;) {
    const range = { from, limit: batchRecords }
    const [keys, values] = await Promise.all([tx.keys('journal', range), tx.values('journal', range)])
    for (const [index, key] of keys.entries()) {
      const value = values[index]
      const record = value === taken ? { since: sid, sid, at, ops: [], size: recordUnits } : readRecord(value)
      if (record?.since !== sid) return { sid, at, size, to: from, brokenAt: key }
      visit(record.ops)
      sid = record.sid
      at = record.at
      size += record.size
      from = after(key)
      turn += record.size
      if (turn < turnUnits) continue
      // Lets others in; the transaction is kept open by what it reads.
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
  if (!isSid(since) || !isSid(sid) || sid <= since || !ops?.every(isRowOp)) return undefined
  if (typeof at !== 'number') return undefined
  return { since, sid, at, ops, size: recordUnits + String(text).length }
}

function isRowOp(value: unknown): value is RowOp {
  return isOp(value) && (value.op !== 'i' || value.v === undefined || typeof value.v === 'number')
}
