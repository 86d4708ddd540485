import { type ControlledTransaction, sql } from 'kysely'
import { isStorable } from '../../../protocol/json-copy.ts'
import type { Changes, Position } from '../log.ts'
import type { Db, SqlDatabase } from './database.ts'
import { type Int8, toNumber } from './int8.ts'
import { type PositionRow, positionOf } from './position.ts'

/** How long a batch is, about, in UTF-16 units. */
const batchLength = 65_536

/** How many rows are fetched at first, when nobody knows how long they are, and how many at most. */
const firstRows = 100
const mostRows = 1_000

/** Where a read stands; one snapshot for all of it. */
export interface OpenRead {
  readonly position: Position
  /** How many records a snapshot holds. */
  readonly count: number
  readonly cursor: Cursor
}

/** The items that a read has not given yet. */
export interface Cursor {
  /** The next items as JSON, joined by commas; `''` at the end, and what it held is released then. */
  next(): Promise<string>
  /** Lets go of what it holds. Safe to call again. */
  close(): Promise<void>
}

export async function readPosition(db: Db, { history }: Pick<SqlDatabase, 'history'>): Promise<Position> {
  const { rows } = await sql<PositionRow>`
    select ${history} as history, head, horizon from instep_state`.execute(db)
  return positionOf(rows[0])
}

/** The records of `owner`, in the order of their last changes. */
export function openSnapshot(database: SqlDatabase, owner: string): Promise<OpenRead> {
  return inSnapshot(database.readers, async (trx) => {
    const position = await readPosition(trx, database)
    const { rows } = await sql<{ count: Int8 }>`
      select count(*) as count from instep_record where owner = ${stored(owner)}`.execute(trx)
    await sql`
      declare items no scroll cursor for
      select '{"t":' || to_json(t) || ',"id":' || to_json(id) || ',"v":' || sid || ',"p":' || p || '}' as item
      from instep_record where owner = ${stored(owner)} order by sid`.execute(trx)
    return { position, count: toNumber(rows[0]?.count ?? 0) }
  })
}

/** The frames of `owner` after `since`; none where the horizon has passed it. */
export function openDelta(database: SqlDatabase, owner: string, since: number): Promise<OpenRead> {
  return inSnapshot(database.deltas, async (trx) => {
    const position = await readPosition(trx, database)
    const from = since < position.horizon ? position.head : since
    await sql`
      declare items no scroll cursor for
      select frame::text as item from instep_log where owner = ${stored(owner)} and sid > ${from} order by sid
      `.execute(trx)
    return { position, count: 0 }
  })
}

/** As {@link Log.changes}, in one statement and so in one snapshot. */
export async function readChanges(
  { followers, history }: SqlDatabase,
  after: number,
  limit: number,
): Promise<Changes> {
  const { rows } = await sql<PositionRow & { till: Int8; sid: Int8 | null; owner: string; frame: string }>`
    select s.*, l.sid, l.owner, l.frame::text as frame
    from (
      select ${history} as history, head, horizon, coalesce(
        (select sid from instep_log where last and sid >= ${after + limit}::bigint order by sid limit 1), head
      ) as till
      from instep_state
    ) s
    left join lateral (
      select sid, owner, frame from instep_log where sid > greatest(${after}, s.horizon) and sid <= s.till
    ) l on true
    order by l.sid`.execute(followers)
  const changes = rows.flatMap(({ sid, owner, frame }) =>
    sid === null ? [] : [{ sid: toNumber(sid), owner, frame }],
  )
  return { ...positionOf(rows[0]), sid: toNumber(rows[0]?.till ?? 0), changes }
}

/**
 * Runs `open`, which declares the cursor `items`. Its first batch is read at once, so that a short answer, which most
 * are, holds no connection while it is sent.
 */
async function inSnapshot(db: Db, open: (trx: Db) => Promise<Omit<OpenRead, 'cursor'>>): Promise<OpenRead> {
  const trx = await db
    .startTransaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute()
  try {
    const opened = await open(trx)
    const cursor = new SqlCursor(trx)
    await cursor.ready()
    return { ...opened, cursor }
  } catch (error) {
    await end(trx)
    throw error
  }
}

class SqlCursor implements Cursor {
  readonly #trx: ControlledTransaction<unknown>
  /** The batch that comes next: the database works on it while the one before is sent. */
  #ahead: Promise<string>
  #open = true
  #rows = firstRows

  constructor(trx: ControlledTransaction<unknown>) {
    this.#trx = trx
    this.#ahead = this.#fetch()
  }

  /** Resolves once the next batch is there. */
  async ready(): Promise<void> {
    await this.#ahead
  }

  async next(): Promise<string> {
    const batch = await this.#ahead
    this.#ahead = this.#fetch()
    // Whoever asks for it is told.
    this.#ahead.catch(() => {})
    return batch
  }

  async #fetch(): Promise<string> {
    const items: string[] = []
    let length = 0
    while (this.#open && length < batchLength / 2) {
      const { rows } = await sql<{ item: string }>`fetch ${sql.lit(this.#rows)} from items`.execute(this.#trx)
      for (const { item } of rows) {
        items.push(item)
        length += item.length
      }
      const isLast = rows.length < this.#rows
      // Promises of the driver hold the result until they are collected, which takes until they are many.
      rows.length = 0
      if (isLast) await this.close()
      // As many as make a batch, if they are like these.
      else this.#rows = Math.min(mostRows, Math.ceil((batchLength * items.length) / length))
    }
    return items.join(',')
  }

  async close(): Promise<void> {
    if (!this.#open) return
    this.#open = false
    await end(this.#trx)
  }
}

/** There is nothing to keep: it only read. Where the connection is lost, that has ended it as well. */
async function end(trx: ControlledTransaction<unknown>): Promise<void> {
  await trx
    .rollback()
    .execute()
    .catch(() => {})
}

/** Nothing is owned by what no database can hold; on its way there it could become the name of another. */
function stored(owner: string): string | null {
  return isStorable(owner) ? owner : null
}
