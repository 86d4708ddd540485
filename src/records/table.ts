import type { Index } from '../models/model.ts'
import type { RowChange } from '../protocol/fold.ts'
import type { WireRow } from '../protocol/row.ts'
import type { DataRecord, Records } from './record.ts'
import { type Change, TableIndex } from './table-index.ts'
import type { Work } from './turns.ts'

/** The shown rows of one type, and the declared indexes over them. */
export class Table {
  readonly #rows: Map<string, WireRow>
  readonly #indexes: readonly TableIndex[]
  readonly #records: Records
  #all: readonly DataRecord[] | undefined
  #revision = 0

  private constructor(rows: Map<string, WireRow>, indexes: readonly TableIndex[], records: Records) {
    this.#rows = rows
    this.#indexes = indexes
    this.#records = records
  }

  static *over(rows: Map<string, WireRow>, declared: readonly Index[], records: Records): Work<Table> {
    const indexes: TableIndex[] = []
    for (const fields of declared) indexes.push(yield* TableIndex.over(fields, rows))
    return new Table(rows, indexes, records)
  }

  get indexes(): readonly TableIndex[] {
    return this.#indexes
  }

  get size(): number {
    return this.#rows.size
  }

  /** A number that is different after each change. */
  get revision(): number {
    return this.#revision
  }

  get(id: string): WireRow | undefined {
    return this.#rows.get(id)
  }

  rows(): Iterable<WireRow> {
    return this.#rows.values()
  }

  all(): readonly DataRecord[] {
    this.#all ??= Object.freeze(Array.from(this.#rows.values(), (row) => this.#records.of(row)))
    return this.#all
  }

  /** Applies changes of rows. Returns those that change a payload: a new version alone is not visible in the record. */
  apply(changes: readonly RowChange[]): readonly Change[] {
    for (const { id, after } of changes) {
      if (after) this.#rows.set(id, after)
      else this.#rows.delete(id)
    }
    const shown = changes.filter(({ before, after }) => before?.p !== after?.p)
    for (const index of this.#indexes) index.apply(shown)
    if (shown.length > 0) {
      this.#all = undefined
      this.#revision += 1
    }
    return shown
  }
}
