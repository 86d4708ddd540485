import { type ControlledTransaction, type RawBuilder, sql } from 'kysely'
import { Deferred } from '../../../base/deferred.ts'
import { separator } from '../separator.ts'
import { type Int8, toNumber } from './int8.ts'
import type { Watch } from './slow-deltas.ts'

/** The approximate length of a batch, in bytes. */
const batchBytes = 65_536

/** The number of rows in the first fetch, when their length is unknown, and the maximum of later fetches. */
const firstRows = 100
const maxRows = 1_000

/**
 * The maximum length of an item that is fetched together with others, in bytes. Longer items are fetched when their
 * turn comes.
 */
const shortBytes = 16_384

/** The items of a read that are not returned yet. */
export interface Cursor {
  /** Whether it keeps a connection of the database from others. */
  readonly holdsConnection: boolean
  /** Resolves with the next batch, or with `''` at the end; the resources are released then. */
  next(): Promise<string>
  /** Releases the resources. Safe to call again. */
  close(): Promise<void>
}

/** The text of an item, and its position. */
export interface Item {
  readonly sid: Int8
  readonly item: string
}

/** An item, and its length in bytes. */
export interface Row {
  readonly sid: Int8
  readonly bytes: number
  /** `null` for a long item, which is fetched by its `sid`. */
  readonly item: string | null
}

interface FetchedRow extends Row {
  readonly sid: number
}

/** The place from which a cursor fetches its rows. */
export interface Source {
  /** The approximate length of a fetch, in bytes. */
  readonly fetchBytes: number
  /** The next rows, in order: fewer than `count` only at the end. */
  fetch(count: number): Promise<Row[]>
  /** The items at `sids`. */
  itemsAt(sids: readonly number[]): Promise<Item[]>
  /** Releases the resources. Called once. */
  end(): Promise<void>
}

/**
 * Reads the result of a statement in batches of limited length. Only an item that is longer than a batch makes a longer
 * one.
 */
export class SqlCursor implements Cursor {
  readonly #source: Source
  readonly #ended = new Deferred<void>()
  /** The rows that are fetched, but in no batch yet. */
  #rows: FetchedRow[] = []
  #maxRows = firstRows
  /** Whether there may be more rows to fetch, and whether the source is open. */
  #more = true
  #open = true
  /** The next batch: the database prepares it while the previous one is being sent. */
  #ahead: Promise<string> | undefined

  private constructor(source: Source) {
    this.#source = source
  }

  /** Opens a cursor over `items`, ordered by `sid`. Resolves once the first batch is there. */
  static async open(
    trx: ControlledTransaction<unknown>,
    items: RawBuilder<Item>,
    watch?: Watch,
  ): Promise<SqlCursor> {
    return SqlCursor.over(await declared(trx, items, watch))
  }

  /** Opens a cursor over the rows of `source`. Resolves once the first batch is there. */
  static async over(source: Source): Promise<SqlCursor> {
    const cursor = new SqlCursor(source)
    cursor.#ahead = cursor.#batch()
    await cursor.#ahead
    return cursor
  }

  get holdsConnection(): boolean {
    return this.#open
  }

  /** Resolves once the resources are released. */
  get ended(): Promise<void> {
    return this.#ended.promise
  }

  async next(): Promise<string> {
    const batch = await this.#ahead
    this.#ahead = this.#batch()
    // The caller of the next `next` receives the error.
    this.#ahead.catch(() => {})
    return batch ?? ''
  }

  async close(): Promise<void> {
    this.#more = false
    this.#rows = []
    await this.#end()
  }

  async #batch(): Promise<string> {
    const batch: FetchedRow[] = []
    let bytes = 0
    for (;;) {
      const isFull = (row: Row) => {
        const was = bytes
        bytes += row.bytes
        return was >= 2 * batchBytes
      }
      const end = this.#rows.findIndex(isFull)
      batch.push(...this.#rows.splice(0, end < 0 ? this.#rows.length : end))
      if (!this.#more || end >= 0 || bytes >= batchBytes / 2) break
      await this.#fetch()
    }
    const texts = await this.#textsOf(batch)
    if (!this.#more && this.#rows.every(({ item }) => item !== null)) await this.#end()
    return texts.join(separator)
  }

  async #fetch(): Promise<void> {
    const count = this.#maxRows
    const rows = await this.#source.fetch(count)
    let length = 0
    for (const { sid, bytes, item } of rows) {
      this.#rows.push({ sid: toNumber(sid), bytes, item })
      length += bytes
    }
    this.#more = this.#more && rows.length === count
    // Fetch about `fetchBytes` next time, if the rows are as long as these.
    const { fetchBytes } = this.#source
    if (length > 0) this.#maxRows = Math.min(maxRows, Math.ceil((fetchBytes * rows.length) / length))
    // The driver's promises keep the result until they are collected, so empty it now.
    rows.length = 0
  }

  async #textsOf(batch: readonly FetchedRow[]): Promise<readonly string[]> {
    const long = batch.flatMap(({ sid, item }) => (item === null ? [sid] : []))
    if (long.length === 0) return batch.map(({ item }) => item ?? '')
    const rows = await this.#source.itemsAt(long)
    const texts = new Map(rows.map(({ sid, item }) => [toNumber(sid), item]))
    rows.length = 0
    return batch.map(({ sid, item }) => {
      const text = item ?? texts.get(sid)
      // Break off: without the item, the response would be wrong.
      if (typeof text !== 'string')
        throw new Error(`The change at ${sid} was deleted while it was being read.`)
      return text
    })
  }

  async #end(): Promise<void> {
    if (!this.#open) return
    this.#open = false
    await this.#source.end()
    this.#ended.resolve()
  }
}

/** Rows of `items` by a cursor of the database, in a transaction that ends with it. */
async function declared(
  trx: ControlledTransaction<unknown>,
  items: RawBuilder<Item>,
  watch: Watch = (read) => read(),
): Promise<Source> {
  await sql`declare items no scroll cursor for ${rowsOf(items)}`.execute(trx)
  return {
    fetchBytes: batchBytes,
    fetch: async (count) =>
      (await watch(() => sql<Row>`fetch ${sql.lit(count)} from items`.execute(trx))).rows,
    itemsAt: async (sids) => (await itemsAt(items, sids).execute(trx)).rows,
    end: () => end(trx),
  }
}

/** With `offset 0`, the database computes each item once, rather than once to measure it and once to return it. */
export function rowsOf(items: RawBuilder<Item>): RawBuilder<Row> {
  return sql`
    select sid, octet_length(item) as bytes, case when octet_length(item) <= ${sql.lit(shortBytes)} then item end as item
    from (${items} offset 0) as i`
}

export function itemsAt(items: RawBuilder<Item>, sids: readonly number[]): RawBuilder<Item> {
  return sql`select sid, item from (${items}) as i where sid in (${sql.join(sids)})`
}

/**
 * Ends a transaction that only read. An error means that the connection is lost, which has ended the transaction as
 * well.
 */
export async function end(trx: ControlledTransaction<unknown>): Promise<void> {
  await trx
    .rollback()
    .execute()
    .catch(() => {})
}
