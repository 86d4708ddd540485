import { migrateOp, migrateRow, type Shape } from '../models/migrate.ts'
import type { RowOp } from '../protocol/fold.ts'
import type { WireRow } from '../protocol/row.ts'
import type { RestoreSink } from './database.ts'
import { JournalFold } from './journal-fold.ts'

/** Gathers what is stored in an older shape; in the shape that the models have now it is `migrated`. */
export interface MigratingSink extends RestoreSink {
  migrated(): readonly WireRow[]
  /** After that: the changes to records that are not there. */
  readonly missing: readonly RowOp[]
}

/** Its `rows` and `ops` throw where one of the shape `from` cannot be migrated. */
export function migratingSink(models: Shape, from: number): MigratingSink {
  const rows: WireRow[] = []
  const fold = new JournalFold()
  return {
    rows(stored) {
      for (const row of stored) rows.push(migrateRow(models, from, row))
    },
    unknown: (ops) => fold.addUnknown(ops),
    ops: (stored) => fold.add(stored.map((op) => migrateOp(models, from, op))),
    migrated: () => [...fold.applyTo(rows), ...fold.rest()],
    get missing() {
      return fold.unknown
    },
  }
}
