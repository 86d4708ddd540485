import { type ControlledTransaction, type RawBuilder, sql } from 'kysely'
import { separator } from '../separator.ts'
import { type Int8, toNumber } from './int8.ts'

/** How long a batch is, about, in bytes. */
const batchBytes = 65_536

/** How many rows are fetched at first, when nobody knows how long they are, and how many at most. */
const firstRows = 100
const maxRows = 1_000

/** How long an item may be, in bytes, that is fetched with the others: what is longer is when its turn comes. */
const shortBytes = 16_384

/** The items that a read has not given yet. */
export interface Cursor {
  /** The next batch, as a read gives it; `''` at the end, and what it held is released then. */
  next(): Promise<string>
  /** Lets go of what it holds. Safe to call again. */
  close(): Promise<void>
}

/** A text, and its place. */
export interface Item {
  readonly sid: Int8
  readonly item: string
}

interface Row {
  readonly sid: number
  readonly bytes: number
  /** `null` where it is long. */
  readonly item: string | null
}

/** What a statement gives, in batches that are bounded however long its items are, but for one that is longer than a batch. */
export class SqlCursor implements Cursor {
  readonly #trx: ControlledTransaction<unknown>
  readonly #items: RawBuilder<Item>
  /** What is fetched, and in no batch yet. */
  #rows: Row[] = []
  #maxRows = firstRows
  /** Whether there may be rows to fetch, and whether the transaction is open. */
  #more = true
  #open = true
  /** The batch that comes next: the database works on it while the one before is sent. */
  #ahead: Promise<string> | undefined

  private constructor(trx: ControlledTransaction<unknown>, items: RawBuilder<Item>) {
    this.#trx = trx
    this.#items = items
  }

  /** For what `items` gives, by its `sid`. Resolves once the first batch is there. */
  static async open(trx: ControlledTransaction<unknown>, items: RawBuilder<Item>): Promise<SqlCursor> {
    // Behind `offset` an item is made once, to be measured and given.
    await sql`
      declare items no scroll cursor for
      select sid, octet_length(item) as bytes, case when octet_length(item) <= ${sql.lit(shortBytes)} then item end as item
      from (${items} offset 0) as i`.execute(trx)
    const cursor = new SqlCursor(trx, items)
    cursor.#ahead = cursor.#batch()
    await cursor.#ahead
    return cursor
  }

  async next(): Promise<string> {
    const batch = await this.#ahead
    this.#ahead = this.#batch()
    // Whoever asks for it is told.
    this.#ahead.catch(() => {})
    return batch ?? ''
  }

  async close(): Promise<void> {
    this.#more = false
    this.#rows = []
    await this.#end()
  }

  async #batch(): Promise<string> {
    const batch: Row[] = []
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
    const most = this.#maxRows
    const { rows } = await sql<{ sid: Int8; bytes: number; item: string | null }>`
      fetch ${sql.lit(most)} from items`.execute(this.#trx)
    let length = 0
    for (const { sid, bytes, item } of rows) {
      this.#rows.push({ sid: toNumber(sid), bytes, item })
      length += bytes
    }
    this.#more = this.#more && rows.length === most
    // As many as make a batch, if they are like these.
    if (length > 0) this.#maxRows = Math.min(maxRows, Math.ceil((batchBytes * rows.length) / length))
    // Promises of the driver hold the result until they are collected, which takes until they are many.
    rows.length = 0
  }

  async #textsOf(batch: readonly Row[]): Promise<readonly string[]> {
    const long = batch.flatMap(({ sid, item }) => (item === null ? [sid] : []))
    if (long.length === 0) return batch.map(({ item }) => item ?? '')
    const { rows } = await sql<Item>`
      select sid, item from (${this.#items}) as i where sid in (${sql.join(long)})`.execute(this.#trx)
    const texts = new Map(rows.map(({ sid, item }) => [toNumber(sid), item]))
    rows.length = 0
    return batch.map(({ sid, item }) => item ?? texts.get(sid) ?? '')
  }

  async #end(): Promise<void> {
    if (!this.#open) return
    this.#open = false
    await end(this.#trx)
  }
}

/** There is nothing to keep: it only read. Where the connection is lost, that has ended it as well. */
export async function end(trx: ControlledTransaction<unknown>): Promise<void> {
  await trx
    .rollback()
    .execute()
    .catch(() => {})
}
