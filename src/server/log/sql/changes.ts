import { type RawBuilder, sql } from 'kysely'
import { rowKey } from '../../../protocol/fold.ts'
import type { TxOp } from '../../../protocol/tx.ts'
import type { Write } from './group.ts'

/** A record with `unchangedSince` in the write at index `w`, and the lowest of these positions. */
export interface Asked {
  readonly w: number
  readonly t: string
  readonly id: string
  readonly since: number
}

/** The last change of the record at index `n` of the list of {@link Asked}. */
export interface FoundChange {
  readonly n: number
  readonly sid: number
}

/** The records of `writes` with `unchangedSince`, each once per write. */
export function askedBy(writes: readonly Write[]): readonly Asked[] {
  const asked = new Map<string, Asked>()
  for (const [w, { ops }] of writes.entries()) {
    for (const op of ops) {
      if (op.unchangedSince === undefined) continue
      const key = keyOf(w, op)
      const since = Math.min(op.unchangedSince, asked.get(key)?.since ?? op.unchangedSince)
      asked.set(key, { w, t: op.t, id: op.id, since })
    }
  }
  return [...asked.values()]
}

/** The last change of each record in `asked` that counts for its write, as a document. */
export function changesOf(asked: readonly Asked[], writes: readonly Write[]): RawBuilder<unknown> {
  // Planning this query takes longer than everything else, and few ops need it.
  if (asked.length === 0) return sql`null`
  const keys = asked.map((entry, n) => ({ n, ...entry }))
  const senders = writes.flatMap(({ transaction }, w) =>
    transaction
      ? [{ w, owner: transaction.owner, caller: transaction.caller, bases: transaction.bases }]
      : [],
  )
  return sql`
    select json_agg(json_build_object('n', k.n, 'sid', l.sid))
    from json_to_recordset(${JSON.stringify(keys)}::json) as k(n int, w int, t text, id text, since bigint)
    left join json_to_recordset(${JSON.stringify(senders)}::json) as s(w int, owner text, caller text, bases json)
      on s.w = k.w
    cross join lateral (
      select sid from instep_log l where l.t = k.t and l.id = k.id and l.sid > k.since and (
        s.w is null or l.owner = s.owner and (l.tx is null or l.caller <> s.caller or l.tx not in
          (select json_array_elements_text(s.bases))))
      order by sid desc limit 1
    ) l`
}

/**
 * Returns a function that says whether the record of `op`, in the write at index `w`, has changed after `since`, based
 * on the result of {@link changesOf}.
 */
export function changesFound(
  asked: readonly Asked[],
  found: readonly FoundChange[],
): (w: number, op: TxOp, since: number) => boolean {
  const sids = new Map<string, number>()
  for (const { n, sid } of found) {
    const entry = asked[n]
    if (entry) sids.set(keyOf(entry.w, entry), sid)
  }
  return (w, op, since) => (sids.get(keyOf(w, op)) ?? since) > since
}

function keyOf(w: number, { t, id }: { readonly t: string; readonly id: string }): string {
  return rowKey(String(w), rowKey(t, id))
}
