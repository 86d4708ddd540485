import { type RawBuilder, sql } from 'kysely'
import { rowKey } from '../../../protocol/fold.ts'
import type { Payload } from '../../../protocol/json.ts'
import type { StoredRecord } from '../log.ts'
import { WriteRejectedError } from '../rejection.ts'
import type { Db } from './database.ts'
import type { Write } from './group.ts'

/** How long the records may be together that one write reads, in bytes of JSON. */
const maxBytes = 64 * 1_048_576

/**
 * How long those of one statement are, as they are stored: no more of them are read once that is reached. Stored they may
 * be compressed, to 1/255 at the least; so what comes is always shorter than the longest string that Node can make.
 */
const storedAtOnce = 1_048_576

/** A record that is to be read. */
export interface Wanted {
  /** Its place among all that are wanted. */
  readonly n: number
  readonly t: string
  readonly id: string
  /** Whether its fields are. */
  readonly whole: boolean
  /** Who wants it, where that is one transaction's owner or several of the same: of the records of others no fields. */
  readonly owner: string | null
}

export interface FoundRecord {
  readonly n: number
  readonly owner: string
  readonly sid: number
  /** Whether its fields are still to be read. */
  readonly left: boolean
  /** How long its fields are; `null` where they are not here. */
  readonly bytes: number | null
  readonly p: Payload | null
}

/**
 * The records that `writes` are about, each once. What is refused already needs none, and what removes one only its owner;
 * so does a transaction of another's, which it is not to find: how long it is would tell.
 */
export function wantedBy(writes: readonly Write[]): readonly Wanted[] {
  const wanted = new Map<string, Wanted>()
  for (const { ops, transaction } of writes) {
    if (transaction?.refused) continue
    const by = transaction?.owner ?? null
    for (const { op, t, id } of ops) {
      const key = rowKey(t, id)
      const { n = wanted.size, whole = false, owner = by } = wanted.get(key) ?? {}
      wanted.set(key, { n, t, id, whole: whole || op !== 'd', owner: owner === by ? by : null })
    }
  }
  return [...wanted.values()]
}

/** Those of `wanted` that are there, as a document. What is long comes without its fields, but for the first. */
export function recordsOf(wanted: readonly Wanted[]): RawBuilder<unknown> {
  return sql`
    select json_agg(json_build_object('n', f.n, 'owner', f.owner, 'sid', f.sid, 'left', f.whole and not f.brought,
      'bytes', case when f.brought then octet_length(f.p::text) end, 'p', case when f.brought then f.p end))
    from (
      select w.*, w.whole and coalesce(sum(pg_column_size(w.p)) filter (where w.whole)
        over (rows between unbounded preceding and 1 preceding), 0) < ${sql.lit(storedAtOnce)} as brought
      from (
        select k.n, r.owner, r.sid, r.p, k.whole and coalesce(r.owner = k.owner, true) as whole
        from json_to_recordset(${JSON.stringify(wanted)}::json)
          as k(n int, t text, id text, whole boolean, owner text)
        join instep_record r on r.t = k.t and r.id = k.id
      ) w
    ) f`
}

/**
 * All of `wanted` that are there, by their keys: `found`, and the fields that are not in it, under the lock under which
 * it was found. Throws a WriteRejectedError of reason `too_large` where they are too long together.
 */
export async function readRecords(
  db: Db,
  wanted: readonly Wanted[],
  found: readonly FoundRecord[],
): Promise<ReadonlyMap<string, StoredRecord>> {
  const records = new Map<string, StoredRecord>()
  let bytes = 0
  for (let read = found; ; ) {
    const left: Wanted[] = []
    for (const { n, owner, sid, left: isLeft, p, bytes: length } of read) {
      const one = wanted[n]
      if (one && isLeft) left.push(one)
      else if (one) records.set(rowKey(one.t, one.id), { owner, sid, p: p ?? {} })
      bytes += length ?? 0
    }
    if (bytes > maxBytes) {
      const message = `The records that it changes are longer than ${maxBytes} bytes together.`
      throw new WriteRejectedError('too_large', message)
    }
    if (left.length === 0) return records
    const { rows } = await sql<{ records: readonly FoundRecord[] | null }>`
      select (${recordsOf(left)}) as records`.execute(db)
    read = rows[0]?.records ?? []
  }
}
