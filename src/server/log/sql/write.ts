import { sql } from 'kysely'
import { rowKey } from '../../../protocol/fold.ts'
import type { Payload } from '../../../protocol/json.ts'
import type { Rejection } from '../../../protocol/tx.ts'
import type { Decided, KeptVerdict } from '../decide-on.ts'
import type { Before } from '../draft.ts'
import type { Position, Written } from '../log.ts'
import type { Db, SqlDatabase } from './database.ts'
import { Group, type GroupBefore, type Write } from './group.ts'
import { type PositionRow, positionOf } from './position.ts'

/*
 * Data goes into a statement as one JSON document, so that the database reads it as JSON and refuses what it cannot
 * hold: half of a surrogate pair would else reach it as another character. A document keeps the text of a `json` part
 * as it is.
 */

/** What has come of each write, in their order, and what all have changed. */
export interface GroupWritten {
  readonly decided: readonly Decided[]
  readonly written: Written
}

/**
 * Does `writes` in the transaction that `db` is. It holds the log's lock to its end, and does nothing else meanwhile.
 */
export async function writeIn(
  db: Db,
  { notify, history }: Pick<SqlDatabase, 'notify' | 'history'>,
  writes: readonly Write[],
  at: number,
): Promise<GroupWritten> {
  const { position, ...found } = await look(db, history, writes)
  const group = new Group({ ...position, ...found }, at)
  const decided = group.decide(writes)
  if (group.entries.length > 0 || group.verdicts.length > 0) await store(db, notify, group, at)
  const changes = group.entries.map(({ sid, owner, frame }) => ({ sid, owner, frame: JSON.stringify(frame) }))
  return { decided, written: { ...position, head: group.head, after: position.head, changes } }
}

interface FoundVerdict {
  readonly caller: string
  readonly id: string
  readonly digest: string
  readonly sid: number | null
  readonly error: Rejection
}

interface FoundRecord {
  readonly w: number
  readonly owner: string | null
  readonly sid: number
  readonly p: Payload
  readonly changed: boolean
}

interface Found extends PositionRow {
  readonly stale: boolean
  readonly verdicts: readonly FoundVerdict[] | null
  readonly records: readonly FoundRecord[] | null
}

type Look = Pick<GroupBefore, 'befores' | 'verdictOn'> & { readonly position: Position }

/**
 * Takes the log's lock, which whoever comes next waits for, and reads what is there for each op of each of `writes`, and
 * the verdicts on the transactions among them and on what these require.
 */
async function look(db: Db, history: SqlDatabase['history'], writes: readonly Write[]): Promise<Look> {
  let found = await find(db, history, writes)
  // Whoever held the lock before has written since this statement began. The next one sees it, and nobody writes now.
  if (found?.stale) found = await find(db, history, writes)
  const kept = new Map<string, KeptVerdict>()
  for (const { caller, id, digest, sid, error } of found?.verdicts ?? []) {
    kept.set(rowKey(caller, id), { digest, verdict: sid === null ? { error } : { sid } })
  }
  const befores: Before[][] = writes.map(() => [])
  for (const { w, owner, sid, p, changed } of found?.records ?? []) {
    befores[w]?.push({ record: owner === null ? undefined : { owner, sid, p }, changed })
  }
  return { position: positionOf(found), befores, verdictOn: (caller, id) => kept.get(rowKey(caller, id)) }
}

/**
 * In one statement, since others wait: each half comes as one document. It sees what was committed before it began; where
 * the row that it locks was written later, which the writing transaction's number (`xmin`) tells, it is stale. So whoever
 * changes what is looked at has to update that row in the same transaction.
 */
async function find(
  db: Db,
  history: SqlDatabase['history'],
  writes: readonly Write[],
): Promise<Found | undefined> {
  const ops = writes.flatMap(({ ops }, w) =>
    ops.map(({ t, id, unchangedSince: since }) => ({ w, t, id, since })),
  )
  const senders = writes.flatMap(({ transaction }, w) => (transaction ? [{ w, ...transaction }] : []))
  const named = senders.flatMap(({ caller, id, requires }) => [id, ...requires].map((id) => ({ caller, id })))
  const asked = senders.map(({ w, owner, caller, bases }) => ({ w, owner, caller, bases }))
  // Planning this takes longer than all else, and hardly any op asks for it.
  const changed = ops.every(({ since }) => since === undefined)
    ? sql`false`
    : sql`(
        select case
          when k.since is null then false
          when greatest(k.since, 0) < state.horizon then r.sid is null or r.sid > k.since
          else exists (
            select from instep_log l where l.t = k.t and l.id = k.id and l.sid > k.since and (
              s.w is null or l.owner = s.owner and (l.tx is null or l.caller <> s.caller or l.tx not in
                (select json_array_elements_text(s.bases))))
          ) end
        from (values (0)) as one
        left join json_to_recordset(${JSON.stringify(asked)}::json) as s(w int, owner text, caller text, bases json)
          on s.w = k.w)`
  const { rows } = await sql<Found>`
    with state as materialized (
      select ${history} as history, head, horizon, xmin as writer from instep_state for update
    )
    select history, head, horizon, writer is distinct from (select xmin from instep_state) as stale, (
      select json_agg(json_build_object('caller', v.caller, 'id', v.id, 'digest', v.digest, 'sid', v.sid, 'error', v.error))
      from json_to_recordset(${JSON.stringify(named)}::json) as k(caller text, id text)
      join instep_verdict v on v.caller = k.caller and v.id = k.id
    ) as verdicts, (
      select json_agg(json_build_object('w', k.w, 'owner', r.owner, 'sid', r.sid, 'p', r.p, 'changed', ${changed}) order by k.n)
      from rows from (json_to_recordset(${JSON.stringify(ops)}::json) as (w int, t text, id text, since bigint))
        with ordinality as k(w, t, id, since, n)
      left join instep_record r on r.t = k.t and r.id = k.id
    ) as records
    from state`.execute(db)
  return rows[0]
}

/** All that a group leaves, in one statement. */
async function store(db: Db, notify: SqlDatabase['notify'], group: Group, at: number): Promise<void> {
  const { head, entries, records } = group
  const kept = records.flatMap(({ t, id, after }) => (after ? { t, id, ...after } : []))
  const gone = records.filter(({ after }) => after === undefined)
  const judged = group.verdicts.map(({ verdict, ...rest }) => ({ ...rest, ...verdict }))
  const removed =
    gone.length === 0
      ? sql``
      : sql`, gone as (
      delete from instep_record r using json_to_recordset(${JSON.stringify(gone)}::json) as g(t text, id text)
      where r.t = g.t and r.id = g.id
    )`
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
    )${removed}, judged as (
      insert into instep_verdict (caller, id, digest, at, sid, error)
      select caller, id, digest, ${at}::bigint, sid, error from json_to_recordset(${JSON.stringify(judged)}::json)
        as v(caller text, id text, digest text, sid bigint, error json)
    )
    update instep_state set head = ${head} returning ${entries.length > 0 ? notify : sql`1`}`.execute(db)
}
