import { type RawBuilder, sql } from 'kysely'
import { rowKey } from '../../../protocol/fold.ts'
import type { Payload } from '../../../protocol/json.ts'
import type { TxOp } from '../../../protocol/tx.ts'
import type { Judge, StoredRecord } from '../log.ts'
import { WriteRejectedError } from '../rejection.ts'
import type { Db } from './database.ts'
import type { Write } from './group.ts'

/**
 * The maximum length of all records that are read under the log's lock at once, in bytes of JSON: as much as a group of
 * writes may hold. As much again is read ahead for rules.
 */
export const maxBytes = 16 * 1_048_576

/**
 * The stored length in bytes after which one statement reads no more records. Stored records may be compressed, to
 * 1/255 at best, so one statement reads about 32 MiB at most.
 */
export const storedAtOnce = 131_072

/** A record to read. */
export interface RecordToRead {
  /** Its index among all wanted records. */
  readonly n: number
  readonly t: string
  readonly id: string
  /** Whether its fields are wanted, too. */
  readonly whole: boolean
  /** Whether a write needs them. Otherwise, rules may ask for them, and can also read the record later. */
  readonly needed: boolean
  /**
   * The owners for whom the record is read, if they are the same for all writes. The fields of other owners' records
   * are not read.
   */
  readonly owners: readonly string[] | null
}

export interface FoundRecord {
  readonly n: number
  readonly owner: string
  readonly sid: number
  /** Whether its fields are still to be read. */
  readonly left: boolean
  /** The length of the fields in bytes; `null` if they are not included. */
  readonly bytes: number | null
  readonly p: Payload | null
}

/** A record that a write has read. */
export interface LoadedRecord extends StoredRecord {
  /** Whether its fields were read, too. */
  readonly whole: boolean
}

/**
 * The records that `writes` are about, each once. Writes that are refused already need none. A removal needs only the
 * owner; its fields are wanted if it has a `was`, or if rules may look at them. A transaction on a record of another
 * owner needs only the owner, too: otherwise the record's length could leak through an error.
 */
export function recordsToRead(writes: readonly Write[]): readonly RecordToRead[] {
  const wanted = new Map<string, RecordToRead>()
  for (const { ops, transaction } of writes) {
    if (transaction?.refused) continue
    const by = transaction?.owners ?? null
    for (const op of ops) {
      const { t, id } = op
      const key = rowKey(t, id)
      const { n = wanted.size, whole = false, needed = false, owners = by } = wanted.get(key) ?? {}
      wanted.set(key, {
        n,
        t,
        id,
        whole: whole || needsFields(op) || transaction?.rules !== undefined,
        needed: needed || needsFields(op),
        owners: isSame(owners, by) ? by : null,
      })
    }
  }
  return [...wanted.values()]
}

function needsFields({ op, was }: TxOp): boolean {
  return op !== 'd' || was !== undefined
}

function isSame(owners: readonly string[] | null, others: readonly string[] | null): boolean {
  return owners === others || JSON.stringify(owners) === JSON.stringify(others)
}

/** The `wanted` records that exist, as a document. After about 128 kB, records come without their fields. */
export function recordsOf(wanted: readonly RecordToRead[]): RawBuilder<unknown> {
  return sql`
    select json_agg(json_build_object('n', f.n, 'owner', f.owner, 'sid', f.sid, 'left', f.whole and not f.brought,
      'bytes', case when f.brought then octet_length(f.p::text) end, 'p', case when f.brought then f.p end))
    from (
      select w.*, w.whole and coalesce(sum(pg_column_size(w.p)) filter (where w.whole)
        over (order by w.n rows between unbounded preceding and 1 preceding), 0) < ${sql.lit(storedAtOnce)} as brought
      from (
        select k.n, r.owner, r.sid, r.p, k.whole and coalesce(r.owner = any(k.owners), true) as whole
        from json_to_recordset(${JSON.stringify(wanted)}::json)
          as k(n int, t text, id text, whole boolean, owners text[])
        join instep_record r on r.t = k.t and r.id = k.id
      ) w
    ) f`
}

/** The records that a group of writes has read. */
export interface ReadRecords {
  readonly records: ReadonlyMap<string, LoadedRecord>
  /** The number of writes, from the first one, whose records are read. At least 1. */
  readonly fitting: number
  /** The indexes of the writes whose records are too long together. */
  readonly tooLarge: ReadonlySet<number>
}

/**
 * The records of `writes`: those in `found`, plus the fields that `found` lacks, until they are too long together. The
 * fields for rules are limited apart from the needed ones. Must run under the same lock as the statement that returned
 * `found`.
 */
export async function readRecords(
  db: Db,
  writes: readonly Write[],
  wanted: readonly RecordToRead[],
  found: readonly FoundRecord[],
): Promise<ReadRecords> {
  const records = new Map<string, LoadedRecord>()
  const lengths = new Map<string, number>()
  const owners = new Map<string, string>()
  const total = { needed: 0, forRules: 0 }
  for (let read = found; ; ) {
    const left: RecordToRead[] = []
    for (const { n, owner, sid, left: isLeft, p, bytes } of read) {
      const target = wanted[n]
      if (!target) continue
      const key = rowKey(target.t, target.id)
      if (isLeft) left.push(target)
      if (!isLeft || !target.needed) records.set(key, { owner, sid, p: p ?? {}, whole: p !== null })
      lengths.set(key, bytes ?? 0)
      owners.set(key, owner)
      total[target.needed ? 'needed' : 'forRules'] += bytes ?? 0
    }
    const next = left.filter(({ needed }) => needed || total.forRules <= maxBytes)
    if (next.length === 0 || total.needed > maxBytes) {
      const unread = new Set(left.flatMap(({ t, id, needed }) => (needed ? rowKey(t, id) : [])))
      return { records, ...fittingOf(writes, { lengths, owners, unread }) }
    }
    const { rows } = await sql<{ records: readonly FoundRecord[] | null }>`
      select (${recordsOf(next)}) as records`.execute(db)
    read = rows[0]?.records ?? []
  }
}

/** The records that were found, by key: their lengths, their owners, and those whose needed fields were not read. */
interface Lengths {
  readonly lengths: ReadonlyMap<string, number>
  readonly owners: ReadonlyMap<string, string>
  readonly unread: ReadonlySet<string>
}

function fittingOf(writes: readonly Write[], found: Lengths): Omit<ReadRecords, 'records'> {
  const tooLarge = new Set<number>()
  for (const [w, write] of writes.entries()) {
    const keys = wholeKeysOf(write, found.owners)
    if (keys.reduce((sum, key) => sum + (found.lengths.get(key) ?? 0), 0) > maxBytes) tooLarge.add(w)
    else if (w > 0 && keys.some((key) => found.unread.has(key))) return { fitting: w, tooLarge }
  }
  return { fitting: writes.length, tooLarge }
}

/**
 * The keys of the records that `write` itself needs whole. Other writes of the group may need more records whole. These
 * must neither reject this write nor reveal records of others to it.
 */
function wholeKeysOf({ ops, transaction }: Write, owners: ReadonlyMap<string, string>): readonly string[] {
  if (transaction?.refused) return []
  const isOwn = (owner = '') => !transaction || transaction.owners.includes(owner)
  const keys = ops.flatMap((op) => (needsFields(op) ? rowKey(op.t, op.id) : []))
  return [...new Set(keys)].filter((key) => isOwn(owners.get(key)))
}

/** Rejects a write whose records are too long together. */
export const refuseTooLarge: Judge = () => {
  throw tooLarge()
}

export function tooLarge(): WriteRejectedError {
  return new WriteRejectedError(
    'too_large',
    `The records to be changed are longer than ${maxBytes} bytes in total.`,
  )
}
