import { sql } from 'kysely'
import type { Payload } from '../../../protocol/json.ts'
import type { Rejection, TxOp } from '../../../protocol/tx.ts'
import { type Before, type Draft, draft } from '../draft.ts'
import type { ClientTransaction, Judge, Verdict } from '../log.ts'
import { dependencyRejected, idReused, toRejection } from '../rejection.ts'
import type { Db, SqlDatabase } from './database.ts'
import { type Int8, toNumber } from './int8.ts'

/*
 * Data goes into a statement as one JSON document, so that the database reads it as JSON and refuses what it cannot
 * hold: half of a surrogate pair would else reach it as another character. A document keeps the text of a `json` part
 * as it is.
 */

interface Held {
  readonly head: number
  readonly horizon: number
}

/** The verdict on a transaction, and what it changes, where it is accepted and was not before. */
interface Decided {
  readonly verdict: Verdict
  readonly draft?: Draft
}

const nothing: Pick<Draft, 'frames' | 'records'> = { frames: [], records: [] }

/** Does `ops` in the transaction that `db` is. It holds the log's lock to its end, and does nothing else meanwhile. */
export async function writeIn(
  db: Db,
  { notify }: Pick<SqlDatabase, 'notify'>,
  ops: readonly TxOp[],
  judge: Judge,
  at: number,
): Promise<Draft> {
  const held = await lock(db)
  const drafted = draft(ops, await befores(db, held, ops), judge, held.head, { at })
  if (drafted.frames.length > 0) await store(db, notify, drafted, at)
  return drafted
}

/** Decides about `transaction` in the transaction that `db` is, as {@link Log.transact} says. */
export async function transactIn(
  db: Db,
  { notify }: Pick<SqlDatabase, 'notify'>,
  transaction: ClientTransaction,
  judge: Judge,
  at: number,
): Promise<Decided> {
  const held = await lock(db)
  const { id, digest, requires } = transaction
  const kept = await verdicts(db, transaction.caller, [id, ...requires])
  const first = kept.get(id)
  if (first) return { verdict: first.digest === digest ? first.verdict : { error: idReused(id) } }
  const isAccepted = (required: string) => {
    const verdict = kept.get(required)?.verdict
    return verdict !== undefined && 'sid' in verdict
  }
  const decided = await decide(db, held, transaction, isAccepted, judge, at)
  await store(db, notify, decided.draft ?? { ...nothing, sid: held.head }, at, { transaction, ...decided })
  return decided
}

async function decide(
  db: Db,
  held: Held,
  transaction: ClientTransaction,
  isAccepted: (required: string) => boolean,
  judge: Judge,
  at: number,
): Promise<Decided> {
  const { id, ops, refused, requires } = transaction
  if (refused) return { verdict: { error: refused } }
  const missing = requires.find((required) => !isAccepted(required))
  if (missing !== undefined) return { verdict: { error: dependencyRejected(missing) } }
  const before = await befores(db, held, ops, transaction)
  try {
    const drafted = draft(ops, before, judge, held.head, { at, tx: id })
    return { verdict: { sid: drafted.sid }, draft: drafted }
  } catch (error) {
    return { verdict: { error: toRejection(error) } }
  }
}

/** What every write begins with. Whoever comes next waits here, and reads what this one has left. */
async function lock(db: Db): Promise<Held> {
  const { rows } = await sql<{ head: Int8; horizon: Int8 }>`
    select head, horizon from instep_state for update`.execute(db)
  const [row] = rows
  if (!row) throw new Error('The table instep_state is empty; restore it from a backup.')
  return { head: toNumber(row.head), horizon: toNumber(row.horizon) }
}

/** What is there for each of `ops`, in their order. */
async function befores(
  db: Db,
  { horizon }: Held,
  ops: readonly TxOp[],
  transaction?: ClientTransaction,
): Promise<Before[]> {
  const keys = ops.map(({ t, id, unchangedSince }, n) => ({ n, t, id, since: unchangedSince }))
  const counts = transaction
    ? sql`and l.owner = ${transaction.owner} and (l.tx is null or l.caller <> ${transaction.caller} or l.tx not in
        (select json_array_elements_text(${JSON.stringify(transaction.bases)}::json)))`
    : sql``
  const { rows } = await sql<{ owner: string | null; sid: Int8; p: Payload; changed: boolean }>`
    select r.owner, r.sid, r.p, case
      when k.since is null then false
      when greatest(k.since, 0) < ${horizon} then r.sid is null or r.sid > k.since
      else exists (
        select from instep_log l where l.t = k.t and l.id = k.id and l.sid > k.since ${counts}
      ) end as changed
    from json_to_recordset(${JSON.stringify(keys)}::json) as k(n int, t text, id text, since bigint)
    left join instep_record r on r.t = k.t and r.id = k.id
    order by k.n`.execute(db)
  return rows.map(({ owner, sid, p, changed }) => ({
    record: owner === null ? undefined : { owner, sid: toNumber(sid), p },
    changed,
  }))
}

interface KeptVerdict {
  readonly digest: string
  readonly verdict: Verdict
}

/** The verdicts there are on the transactions of `caller` that are named. */
async function verdicts(
  db: Db,
  caller: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, KeptVerdict>> {
  const keys = ids.map((id) => ({ caller, id }))
  const { rows } = await sql<{ id: string; digest: string; sid: Int8 | null; error: Rejection }>`
    select v.id, v.digest, v.sid, v.error
    from json_to_recordset(${JSON.stringify(keys)}::json) as k(caller text, id text)
    join instep_verdict v on v.caller = k.caller and v.id = k.id`.execute(db)
  return new Map(
    rows.map(({ id, digest, sid, error }) => {
      const verdict = sid === null ? { error } : { sid: toNumber(sid) }
      return [id, { digest, verdict }]
    }),
  )
}

/** All that a write leaves, in one statement. */
async function store(
  db: Db,
  notify: SqlDatabase['notify'],
  { sid, frames, records }: Draft,
  at: number,
  decided?: Decided & { readonly transaction: ClientTransaction },
): Promise<void> {
  const { caller, id: tx, digest } = decided?.transaction ?? {}
  const entries = frames.map(({ owner, frame }) => {
    const { t, id } = frame
    return { sid: frame.sid, owner, t, id, caller, tx, last: frame.sid === sid, frame }
  })
  const kept = records.flatMap(({ t, id, after }) => (after ? { t, id, ...after } : []))
  const gone = records.filter(({ after }) => after === undefined)
  const verdict = decided ? [{ caller, id: tx, digest, ...decided.verdict }] : []
  await sql`
    with logged as (
      insert into instep_log (sid, owner, t, id, caller, tx, at, last, frame)
      select sid, owner, t, id, caller, tx, ${at}::bigint, last, frame from json_to_recordset(${JSON.stringify(entries)}::json)
        as e(sid bigint, owner text, t text, id text, caller text, tx text, last boolean, frame json)
    ), kept as (
      insert into instep_record (t, id, owner, sid, p)
      select t, id, owner, sid, p from json_to_recordset(${JSON.stringify(kept)}::json)
        as k(t text, id text, owner text, sid bigint, p json)
      on conflict (t, id) do update set owner = excluded.owner, sid = excluded.sid, p = excluded.p
    ), gone as (
      delete from instep_record r using json_to_recordset(${JSON.stringify(gone)}::json) as g(t text, id text)
      where r.t = g.t and r.id = g.id
    ), judged as (
      insert into instep_verdict (caller, id, digest, at, sid, error)
      select caller, id, digest, ${at}::bigint, sid, error from json_to_recordset(${JSON.stringify(verdict)}::json)
        as v(caller text, id text, digest text, sid bigint, error json)
    )
    update instep_state set head = ${sid} returning ${frames.length > 0 ? notify : sql`1`}`.execute(db)
}
