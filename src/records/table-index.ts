import type { Index } from '../models/model.ts'
import { type FieldReader, fieldReader } from '../models/values.ts'
import type { WireRow } from '../protocol/row.ts'
import { ascending } from './order.ts'
import { OrderedList } from './ordered-list.ts'
import { sort } from './sort.ts'
import type { Work } from './turns.ts'

/** A change of one row that is visible in its record. */
export interface Change {
  readonly before: WireRow | undefined
  readonly after: WireRow | undefined
}

/** A declared index: the rows of a table, ascending by the index's fields, then by `id`. */
export class TableIndex {
  readonly fields: Index
  readonly #reads: readonly FieldReader[]
  /**
   * Each row as it was when an indexed field last changed. Most changes leave these fields equal and need no search
   * here.
   */
  readonly #rows: OrderedList<WireRow>
  readonly #current: ReadonlyMap<string, WireRow>

  private constructor(fields: Index, rows: OrderedList<WireRow>, current: ReadonlyMap<string, WireRow>) {
    this.fields = fields
    this.#reads = fields.map(fieldReader)
    this.#rows = rows
    this.#current = current
  }

  static *over(fields: Index, current: ReadonlyMap<string, WireRow>): Work<TableIndex> {
    const order = ascending(fields)
    const sorted = yield* sort([...current.values()], order.compare)
    return new TableIndex(fields, yield* OrderedList.over<WireRow>(order, sorted), current)
  }

  /** As `OrderedList.rank`. `isBefore` may read the indexed fields only. */
  rank(isBefore: (row: WireRow, key: unknown) => boolean): number {
    return this.#rows.rank(isBefore)
  }

  /** The current rows from rank `from` up to, but not including, rank `to`. */
  slice(from: number, to: number): WireRow[] {
    return this.#rows.slice(from, to).map((row) => this.#current.get(row.id) ?? row)
  }

  apply(changes: readonly Change[]): void {
    for (const { before, after } of changes) {
      const stays = before && after && this.#reads.every((read) => read(before) === read(after))
      if (!stays) this.#rows.replace(before, after)
    }
  }
}
