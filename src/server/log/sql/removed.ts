import { sql } from 'kysely'
import { rowKey } from '../../../protocol/fold.ts'
import type { RemovedRecord } from '../removed-record.ts'
import type { Db } from './database.ts'
import type { Write } from './group.ts'
import { maxBytes, storedAtOnce } from './records.ts'

type RemovedRecords = ReadonlyMap<string, RemovedRecord>

interface FoundRemoval extends RemovedRecord {
  readonly n: number
  readonly bytes: number
}

export function isRestoring({ ops, transaction }: Write): boolean {
  return transaction?.refused === undefined && ops.some((op) => op.op === 'i' && op.restores !== undefined)
}

/**
 * The records that the ops of `write` restore, by their keys. A record is found if its last change is its removal by the
 * named transaction of the caller. `undefined` if they are too long together.
 */
export async function readRemoved(db: Db, write: Write | undefined): Promise<RemovedRecords | undefined> {
  const removed = new Map<string, RemovedRecord>()
  if (!write || !isRestoring(write)) return removed
  const { ops, transaction } = write
  const keys = ops.flatMap((op, n) =>
    op.op === 'i' && op.restores !== undefined ? [{ n, t: op.t, id: op.id, tx: op.restores }] : [],
  )
  let total = 0
  for (let after = -1; ; ) {
    // Stored records may be compressed, so each statement reads few bytes of them.
    const { rows } = await sql<FoundRemoval>`
      select f.n, f.owner, f.removed as p, octet_length(f.removed::text) as bytes from (
        select k.n, l.owner, l.removed, coalesce(sum(pg_column_size(l.removed))
          over (order by k.n rows between unbounded preceding and 1 preceding), 0) as before
        from json_to_recordset(${JSON.stringify(keys)}::json) as k(n int, t text, id text, tx text)
        cross join lateral (
          select owner, caller, tx, removed from instep_log l where l.t = k.t and l.id = k.id order by sid desc limit 1
        ) l
        where k.n > ${after}::int and l.caller = ${transaction?.caller ?? null} and l.tx = k.tx and l.removed is not null
      ) f where f.before < ${sql.lit(storedAtOnce)} order by f.n`.execute(db)
    for (const { n, owner, p, bytes } of rows) {
      const op = ops[n]
      if (op) removed.set(rowKey(op.t, op.id), { owner, p })
      total += bytes
      after = n
    }
    if (total > maxBytes) return undefined
    if (rows.length === 0 || removed.size === keys.length) return removed
  }
}
