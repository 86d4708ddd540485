import { sql } from 'kysely'
import { rowKey } from '../../../protocol/fold.ts'
import type { Payload } from '../../../protocol/json.ts'
import { maxChangesSince, type Removal } from '../removed-record.ts'
import type { Db } from './database.ts'
import type { Write } from './group.ts'
import { newestVersion } from './position.ts'
import { maxBytes, storedAtOnce } from './records.ts'

type RemovedRecords = ReadonlyMap<string, Removal>

interface FoundRemoval {
  readonly n: number
  readonly owner: string
  /** `null` if the record has changed since. */
  readonly p: Payload | null
  readonly bytes: number | null
}

export function isRestoring({ ops, transaction }: Write): boolean {
  return transaction?.refused === undefined && ops.some((op) => op.op === 'i' && op.restores !== undefined)
}

/**
 * The removals that the ops of `write` undo, by the keys of their records. A removal counts if the named transaction of
 * the caller made it. If that transaction was accepted without a change to the record, nothing is left to undo. `undefined`
 * if the removed records are too long together.
 */
export async function readRemoved(db: Db, write: Write | undefined): Promise<RemovedRecords | undefined> {
  const removed = new Map<string, Removal>()
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
        select k.n, l.owner, l.last_removed as removed, coalesce(sum(pg_column_size(l.last_removed))
          over (order by k.n rows between unbounded preceding and 1 preceding), 0) as before
        from json_to_recordset(${JSON.stringify(keys)}::json) as k(n int, t text, id text, tx text)
        cross join lateral (
          select owner, caller, tx, removed,
            case when row_number() over (order by sid desc) = 1 then removed end as last_removed
          from (
            select sid, owner, caller, tx, removed from instep_log l where l.t = k.t and l.id = k.id
            order by sid desc limit ${sql.lit(maxChangesSince)}
          ) newest
        ) l
        where k.n > ${after}::int and l.caller = ${transaction?.caller ?? null} and l.tx = k.tx and l.removed is not null
      ) f where f.before < ${sql.lit(storedAtOnce)} order by f.n`.execute(db)
    for (const { n, owner, p, bytes } of rows) {
      const op = ops[n]
      const key = op && rowKey(op.t, op.id)
      // One transaction may have removed a record twice.
      if (key !== undefined && (p || !removed.has(key))) removed.set(key, p ? { owner, p } : 'changed')
      total += bytes ?? 0
      after = n
    }
    if (total > maxBytes) return undefined
    if (rows.length === 0 || removed.size === keys.length) break
  }
  const missing = keys.filter(({ t, id }) => !removed.has(rowKey(t, id)))
  if (missing.length === 0) return removed
  // The log has all changes of a transaction if it has an older change, or has forgotten none.
  const { rows } = await sql<{ n: number }>`
    select k.n from json_to_recordset(${JSON.stringify(missing)}::json) as k(n int, t text, id text, tx text)
    join instep_verdict v on v.caller = ${transaction?.caller ?? null} and v.id = k.tx and v.sid is not null
    where ((select horizon from instep_state ${newestVersion}) = 0 or exists (
      select from instep_log where sid <= v.sid and (caller, tx) is distinct from (v.caller, v.id)
    )) and (
      select count(*) < ${sql.lit(maxChangesSince)} and count(*) filter (where caller = v.caller and tx = v.id) = 0 from (
        select caller, tx from instep_log l where l.t = k.t and l.id = k.id order by sid desc
        limit ${sql.lit(maxChangesSince)}
      ) newest
    )`.execute(db)
  for (const { n } of rows) {
    const op = ops[n]
    if (op) removed.set(rowKey(op.t, op.id), 'changed')
  }
  return removed
}
