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
  const held = await lock(db, history)
  const group = new Group({ ...held, ...(await look(db, held, writes)) }, at)
  const decided = group.decide(writes)
  if (group.entries.length > 0 || group.verdicts.length > 0) await store(db, notify, group, at)
  const changes = group.entries.map(({ sid, owner, frame }) => ({ sid, owner, frame: JSON.stringify(frame) }))
  return { decided, written: { ...held, head: group.head, after: held.head, changes } }
}

/** What every write begins with. Whoever comes next waits here, and reads what this one has left. */
async function lock(db: Db, history: SqlDatabase['history']): Promise<Position> {
  const { rows } = await sql<PositionRow>`
    select ${history} as history, head, horizon from instep_state for update`.execute(db)
  return positionOf(rows[0])
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

/**
 * What is there for each op of each of `writes`, and the verdicts on the transactions among them and on what these
 * require. In one statement, since others wait: each half comes as one document.
 */
async function look(
  db: Db,
  { horizon }: Position,
  writes: readonly Write[],
): Promise<Pick<GroupBefore, 'befores' | 'verdictOn'>> {
  const ops = writes.flatMap(({ ops }, w) =>
    ops.map(({ t, id, unchangedSince: since }) => ({ w, t, id, since })),
  )
  const senders = writes.flatMap(({ transaction }, w) => (transaction ? [{ w, ...transaction }] : []))
  const named = senders.flatMap(({ caller, id, requires }) => [id, ...requires].map((id) => ({ caller, id })))
  const asked = senders.map(({ w, owner, caller, bases }) => ({ w, owner, caller, bases }))
  const { rows } = await sql<{
    verdicts: readonly FoundVerdict[] | null
    records: readonly FoundRecord[] | null
  }>`
    select (
      select json_agg(json_build_object('caller', v.caller, 'id', v.id, 'digest', v.digest, 'sid', v.sid, 'error', v.error))
      from json_to_recordset(${JSON.stringify(named)}::json) as k(caller text, id text)
      join instep_verdict v on v.caller = k.caller and v.id = k.id
    ) as verdicts, (
      select json_agg(json_build_object('w', k.w, 'owner', r.owner, 'sid', r.sid, 'p', r.p, 'changed', case
        when k.since is null then false
        when greatest(k.since, 0) < ${horizon} then r.sid is null or r.sid > k.since
        else exists (
          select from instep_log l where l.t = k.t and l.id = k.id and l.sid > k.since and (
            s.w is null or l.owner = s.owner and (l.tx is null or l.caller <> s.caller or l.tx not in
              (select json_array_elements_text(s.bases))))
        ) end) order by k.n)
      from rows from (json_to_recordset(${JSON.stringify(ops)}::json) as (w int, t text, id text, since bigint))
        with ordinality as k(w, t, id, since, n)
      left join json_to_recordset(${JSON.stringify(asked)}::json) as s(w int, owner text, caller text, bases json)
        on s.w = k.w
      left join instep_record r on r.t = k.t and r.id = k.id
    ) as records`.execute(db)
  const kept = new Map<string, KeptVerdict>()
  for (const { caller, id, digest, sid, error } of rows[0]?.verdicts ?? []) {
    kept.set(rowKey(caller, id), { digest, verdict: sid === null ? { error } : { sid } })
  }
  const befores: Before[][] = writes.map(() => [])
  for (const { w, owner, sid, p, changed } of rows[0]?.records ?? []) {
    befores[w]?.push({ record: owner === null ? undefined : { owner, sid, p }, changed })
  }
  return { befores, verdictOn: (caller, id) => kept.get(rowKey(caller, id)) }
}

/** All that a group leaves, in one statement. */
async function store(db: Db, notify: SqlDatabase['notify'], group: Group, at: number): Promise<void> {
  const { head, entries, records } = group
  const kept = records.flatMap(({ t, id, after }) => (after ? { t, id, ...after } : []))
  const gone = records.filter(({ after }) => after === undefined)
  const judged = group.verdicts.map(({ verdict, ...rest }) => ({ ...rest, ...verdict }))
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
      select caller, id, digest, ${at}::bigint, sid, error from json_to_recordset(${JSON.stringify(judged)}::json)
        as v(caller text, id text, digest text, sid bigint, error json)
    )
    update instep_state set head = ${head} returning ${entries.length > 0 ? notify : sql`1`}`.execute(db)
}
