import { sql } from 'kysely'
import { ConfigurationError, NetworkError } from '../../../base/errors.ts'
import type { Position } from '../log.ts'
import { type Int8, toNumber } from './int8.ts'

/** A row of `instep_state`, and the newest change in `instep_log`: `null` if there is none. */
export interface PositionRow {
  readonly history: string
  readonly head: Int8
  readonly horizon: Int8
  readonly newest: Int8 | null
}

/**
 * Finds the one row of `instep_state` quickly: for a `from instep_state`. While any transaction of the database is
 * open, PostgreSQL keeps the old versions of the row, one for each write. Read backwards, the index begins with the
 * newest.
 */
export const newestVersion = sql`order by one desc limit 1`

/** The newest change in `instep_log`, for a {@link PositionRow}. */
export const newestChange = sql<Int8 | null>`(select max(sid) from instep_log)`

/**
 * Which tables of the application are attached, and how, as a part of the name of the history: with another mapping, a
 * client fetches a snapshot. For a `from instep_state`, also of a version without the column.
 */
export const mappingText = sql<string>`coalesce(':' || (to_jsonb(instep_state) ->> 'mapping'), '')`

/** Throws a NetworkError if the tables are of different moments. The error lasts until somebody restores the tables. */
export function positionOf(found: PositionRow | undefined): Position {
  const row = onlyRow([found])
  const [head, horizon, newest] = [toNumber(row.head), toNumber(row.horizon), toNumber(row.newest ?? 0)]
  if (Math.max(horizon, newest) !== head) throw torn(head, Math.max(horizon, newest))
  return { history: row.history, head, horizon }
}

/**
 * Each change stores its log entry and the new head in one transaction, so only a partial restore can make the two
 * differ.
 */
function torn(head: number, newest: number): NetworkError {
  const advice = 'restore all tables whose names begin with `instep_` from the same backup'
  const message = `The table instep_state is at change ${head}, but instep_log ends with change ${newest}; ${advice}.`
  return new NetworkError('unreachable', message, { cause: new ConfigurationError('database', message) })
}

/** The one row of `instep_state`. */
export function onlyRow<Row>([row]: readonly (Row | undefined)[]): Row {
  if (row === undefined) throw new Error('The table instep_state is empty; restore it from a backup.')
  return row
}
