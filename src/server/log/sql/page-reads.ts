import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Clock } from '../../../base/environment.ts'
import type { RecordKey } from '../log.ts'
import { type Item, itemsAt, rowsOf, SqlCursor } from './cursor.ts'
import { type Int8, toNumber } from './int8.ts'
import type { Watch } from './slow-deltas.ts'

/** The approximate length of a page, in bytes: a page takes some milliseconds, and others wait for it. */
const pageBytes = 262_144

/** The number of records that one statement counts. */
const countedAtOnce = 10_000

/** Makes the statement for the first `limit` items whose sid is above `after`, in order. */
export type ItemsAfter = (after: number, limit: number) => RawBuilder<Item>

/** A read whose pages show the state at the position `till`. */
export interface PageRead {
  readonly till: number
  /** The position from which changes are read; `undefined` if records are read. */
  readonly since: number | undefined
}

/**
 * The reads of a database with a single connection. Each page is a statement of its own, so that others use the
 * connection between two pages. All pages show one moment: while a read is open, writes keep a copy of the records that
 * they replace, and the changes that it needs are not deleted.
 */
export class PageReads {
  readonly #clock: Clock
  readonly #open = new Set<PageRead>()
  /** Whether there may be copies that no read needs. */
  #isDirty = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Begins a read. `db` must be in the transaction that has read the position `till`. If that transaction fails, call
   * {@link undo}.
   */
  async begin(db: Kysely<unknown>, till: number, since?: number): Promise<PageRead> {
    await prepare(db)
    const read = { till, since }
    this.#open.add(read)
    return read
  }

  /** Ends a read that could not be opened. */
  undo(read: PageRead): void {
    this.#open.delete(read)
  }

  /** Opens a cursor over the items of `read`. `db` must not be in a transaction. If it fails, call {@link undo}. */
  async cursor(
    db: Kysely<unknown>,
    read: PageRead,
    items: ItemsAfter,
    watch: Watch = (part) => part(),
  ): Promise<SqlCursor> {
    let after = read.since ?? 0
    const end = async () => void this.#open.delete(read)
    const fetch = async (count: number) => {
      // A database within this process keeps the process busy.
      await this.#clock.pause()
      // The wait for the only connection does not count.
      const { rows } = await db
        .connection()
        .execute((own) => watch(() => rowsOf(items(after, count)).execute(own)))
      after = toNumber(rows.at(-1)?.sid ?? after)
      return rows
    }
    const longItems = async (sids: readonly number[]) => {
      const rows: Item[] = []
      for (const sid of sids) rows.push(...(await itemsAt(items(sid - 1, 1), [sid]).execute(db)).rows)
      return rows
    }
    return SqlCursor.over({ fetchBytes: pageBytes, fetch, itemsAt: longItems, end })
  }

  /**
   * The number of records that `owners` have at the position of `read`, counted in slices. `db` must not be in a
   * transaction. Without `vacuum`, which nothing does in a PGlite, the database reads each record to count it.
   */
  async count(db: Kysely<unknown>, { till }: PageRead, owners: readonly string[]): Promise<number> {
    let total = 0
    let left = [...new Set(owners)].map((owner) => ({ owner, after: 0 }))
    while (left.length > 0) {
      const limit = Math.ceil(countedAtOnce / left.length)
      await this.#clock.pause()
      const { rows } = await sql<{ owner: string; count: Int8; sid: Int8 }>`
        select o.owner, count(*) as count, max(r.sid) as sid
        from json_to_recordset(${JSON.stringify(left)}::json) as o(owner text, after bigint) cross join lateral (
          select sid from (
            (select sid from instep_record
              where owner = o.owner and sid > o.after and sid <= ${till} order by sid limit ${limit})
            union all
            (select sid from instep_kept
              where owner = o.owner and sid > o.after and sid <= ${till} and until > ${till} order by sid limit ${limit})
          ) r order by sid limit ${limit}
        ) r group by o.owner`.execute(db)
      left = []
      for (const { owner, count, sid } of rows) {
        total += toNumber(count)
        if (toNumber(count) === limit) left.push({ owner, after: toNumber(sid) })
      }
    }
    return total
  }

  /**
   * Keeps copies of `changing` for the open reads. Must run before a write that changes them, after which the head is
   * `head`.
   */
  async keep(db: Kysely<unknown>, changing: readonly RecordKey[], head: number): Promise<void> {
    const tills = this.#tills
    if (tills.length === 0) await this.#clear(db)
    if (tills.length === 0 || changing.length === 0) return
    this.#isDirty = true
    const keys = changing.map(({ t, id }) => ({ t, id }))
    await sql`
      insert into instep_kept (sid, t, id, owner, p, until)
      select r.sid, r.t, r.id, r.owner, r.p, ${head}::bigint
      from json_to_recordset(${JSON.stringify(keys)}::json) as k(t text, id text)
      join instep_record r on r.t = k.t and r.id = k.id where r.sid <= ${Math.max(...tills)}`.execute(db)
  }

  /** As {@link keep}, for a write that may change any record of `types`, after which the head is at least `head`. */
  async keepTypes<T>(
    db: Kysely<unknown>,
    types: readonly string[],
    head: number,
    write: () => Promise<T>,
  ): Promise<T> {
    if (this.#tills.length === 0) {
      await this.#clear(db)
      return write()
    }
    this.#isDirty = true
    await sql`
      insert into instep_kept (sid, t, id, owner, p, until)
      select sid, t, id, owner, p, ${head}::bigint from instep_record where t = any(${types}::text[])
      on conflict (sid) do nothing`.execute(db)
    const result = await write()
    await sql`delete from instep_kept k using instep_record r where r.sid = k.sid`.execute(db)
    return result
  }

  /** The position up to which no open read needs changes. */
  get unneeded(): number {
    return Math.min(...[...this.#open].map(({ since = Number.POSITIVE_INFINITY }) => since))
  }

  /** The positions of the open reads of records. */
  get #tills(): readonly number[] {
    return [...this.#open].flatMap(({ till, since }) => (since === undefined ? till : []))
  }

  /** Deletes the copies if there may be any. No later read sees them. */
  async #clear(db: Kysely<unknown>): Promise<void> {
    if (this.#isDirty) await sql`truncate instep_kept`.execute(db)
    this.#isDirty = false
  }
}

/** Makes the table of the copies, if it is missing: early, since that needs room on the disk. */
export async function prepare(db: Kysely<unknown>): Promise<void> {
  await sql`
    create temp table if not exists instep_kept
      (sid bigint primary key, t text, id text, owner text collate "C", p json, until bigint)`.execute(db)
}
