import { migrateOp, migrateRow, type Shape } from '../models/migrate.ts'
import { applyOp, type RowOp, rowKey } from '../protocol/fold.ts'
import type { WireRow } from '../protocol/row.ts'
import type { RestoreSink } from './database.ts'

/** Gathers what is stored in an older shape, row by row in the shape that the models have now. */
export class MigratingSink implements RestoreSink {
  readonly #models: Shape
  readonly #from: number
  readonly #rows = new Map<string, WireRow>()

  constructor(models: Shape, from: number) {
    this.#models = models
    this.#from = from
  }

  /** As they are now. */
  get migrated(): readonly WireRow[] {
    return [...this.#rows.values()]
  }

  /** Throws where one cannot be migrated. */
  rows(rows: readonly WireRow[]): void {
    for (const stored of rows) {
      const row = migrateRow(this.#models, this.#from, stored)
      this.#set(row.t, row.id, row)
    }
  }

  /** Throws where one cannot be migrated. */
  ops(ops: readonly RowOp[]): void {
    for (const stored of ops) {
      const op = migrateOp(this.#models, this.#from, stored)
      this.#set(op.t, op.id, applyOp(this.#rows.get(rowKey(op.t, op.id)), op))
    }
  }

  #set(t: string, id: string, row: WireRow | undefined): void {
    const key = rowKey(t, id)
    if (row) this.#rows.set(key, row)
    else this.#rows.delete(key)
  }
}
