import { type RawBuilder, sql } from 'kysely'
import { rowKey } from '../../../protocol/fold.ts'
import type { TxOp } from '../../../protocol/tx.ts'
import { maxExaminedOf } from '../draft.ts'
import type { Write } from './group.ts'

/** A record with `unchangedSince` in the write at index `w`, and the lowest of these positions. */
export interface ChangeCheck {
  readonly w: number
  readonly t: string
  readonly id: string
  readonly since: number
}

type AskedChanges = ChangeCheck & { readonly n: number; readonly max: number }

/** The last change of the record at index `n` of the list of {@link ChangeCheck}. */
export interface FoundChange {
  readonly n: number
  readonly sid: number
}

/** The records of `writes` with `unchangedSince`, each once per write. */
export function changeChecksOf(writes: readonly Write[]): readonly ChangeCheck[] {
  const asked = new Map<string, ChangeCheck>()
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

/**
 * A statement that returns, as a JSON document, the last change of each record in `asked` that counts for its write. If
 * a record has more changes than are examined, it counts as changed.
 */
export function changesOf(asked: readonly ChangeCheck[], writes: readonly Write[]): RawBuilder<unknown> {
  // Planning this query takes longer than everything else, and few ops need it.
  if (asked.length === 0) return sql`null`
  const counts = new Map<number, number>()
  for (const { w } of asked) counts.set(w, (counts.get(w) ?? 0) + 1)
  const keys = asked.map((entry, n): AskedChanges => {
    return { n, ...entry, max: maxExaminedOf(counts.get(entry.w) ?? 1) }
  })
  const senders = writes.flatMap(({ transaction }, w) =>
    transaction ? [{ w, owners: transaction.owners, caller: transaction.caller }] : [],
  )
  const bases = writes.flatMap(({ transaction }, w) => transaction?.bases.map((tx) => ({ w, tx })) ?? [])
  return sql`
    select json_agg(json_build_object('n', k.n, 'sid', l.sid))
    from json_to_recordset(${JSON.stringify(keys)}::json) as k(n int, w int, t text, id text, since bigint, max int)
    left join json_to_recordset(${JSON.stringify(senders)}::json) as s(w int, owners text[], caller text) on s.w = k.w
    cross join lateral (
      select sid from (
        select sid, owner, caller, tx, row_number() over (order by sid desc) as place
        from instep_log where t = k.t and id = k.id and sid > k.since order by sid desc limit k.max + 1
      ) newest
      where place > k.max or s.w is null or owner = any(s.owners) and (tx is null or caller <> s.caller or (s.w, tx) not in
        (select w, tx from json_to_recordset(${JSON.stringify(bases)}::json) as b(w int, tx text)))
      order by sid desc limit 1
    ) l`
}

/**
 * Returns a function that says whether the record of `op`, in the write at index `w`, has changed after `since`, based
 * on the result of {@link changesOf}.
 */
export function changesFound(
  asked: readonly ChangeCheck[],
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
