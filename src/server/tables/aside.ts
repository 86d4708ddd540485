import { sql } from 'kysely'
import type { Db } from '../log/sql/database.ts'
import { type Int8, toNumber } from '../log/sql/int8.ts'

/*
 * What is set aside, in the table `instep_aside`, which all processes of the service share.
 *
 * - `table`: the mapping, the triggers or the rights of a table do not fit. Its records stay as they were last taken.
 *   Its changes wait, and nothing is accepted for it. TableWatch decides, in every process, from the catalog. Once the
 *   table fits, all of its keys are queued, so that the changes which nobody has seen become frames.
 * - `writes`: a client's write failed for a reason that is not in its data, such as a broken trigger. The next write is
 *   tried all the same: one write must not stop the others. Ends with a write that succeeds, or after a minute.
 * - `row`: a row cannot be a record. It belongs to nobody. Whoever takes its key decides, again with each change.
 */

export type AsideKind = 'table' | 'writes' | 'row'

/** Something that is set aside, and why. */
export interface Aside {
  readonly t: string
  readonly kind: AsideKind
  /** The id of a row; empty for other kinds. */
  readonly id: string
  /** A sentence, without data. */
  readonly reason: string
}

/** How long a table stays aside after its changes could not be recorded, and a failed write is remembered, in s. */
const retrySeconds = 60

/** All tables and writes that are set aside, and how many rows of each type. */
export interface AsideState {
  /** `isDue`: whether the table may be used again if it fits. */
  readonly tables: ReadonlyMap<string, { readonly reason: string; readonly isDue: boolean }>
  readonly writes: ReadonlyMap<string, string>
  readonly rows: ReadonlyMap<string, number>
}

/** Reads what is set aside, without writes that have failed a while ago. Works where nothing can be written. */
export async function readAsides(db: Db): Promise<AsideState> {
  const { rows } = await sql<{ t: string; kind: AsideKind; reason: string; due: boolean; count: Int8 }>`
    select t, kind, min(reason) as reason, bool_and(due <= now()) as due, count(*) as count
    from instep_aside where kind <> 'writes' or due >= now() group by t, kind`.execute(db)
  const of = (kind: AsideKind) => rows.filter((row) => row.kind === kind)
  return {
    tables: new Map(of('table').map(({ t, reason, due }) => [t, { reason, isDue: due }])),
    writes: new Map(of('writes').map(({ t, reason }) => [t, reason])),
    rows: new Map(of('row').map(({ t, count }) => [t, toNumber(count)])),
  }
}

/** The first rows of a type that are set aside, at most `limit`, by id. */
export async function rowsAside(db: Db, t: string, limit: number): Promise<readonly Aside[]> {
  const { rows } = await sql<Aside>`
    select t, kind, id, reason from instep_aside where t = ${t} and kind = 'row' order by id limit ${sql.lit(limit)}`.execute(
    db,
  )
  return rows
}

/** Sets tables, writes or rows aside. `isLasting`: a table, for a while even if it fits. */
export async function setAside(db: Db, asides: readonly Aside[], isLasting = false): Promise<void> {
  if (asides.length === 0) return
  const seconds = sql.lit(retrySeconds)
  await sql`
    insert into instep_aside (t, kind, id, reason, due)
    select t, kind, id, reason, case when kind = 'writes' or ${isLasting} then now() + ${seconds} * interval '1 second' else now() end
    from json_to_recordset(${JSON.stringify(asides)}::json) as a(t text, kind text, id text, reason text)
    on conflict (t, kind, id) do update set reason = excluded.reason, due = excluded.due`.execute(db)
}

/** Ends what {@link setAside} has begun for a type. */
export async function endAside(db: Db, t: string, kind: AsideKind): Promise<void> {
  await sql`delete from instep_aside where t = ${t} and kind = ${kind}`.execute(db)
}
