import { type MigrationPlan, migrateOp, migrateRow } from '../models/migrate.ts'
import type { WireRow } from '../protocol/row.ts'
import { JournalFold } from './journal-fold.ts'
import type { RestoreSink } from './stored-data.ts'

/** Collects data that is stored for an older version of the models. `migrated` returns it for the current version. */
export interface MigratingSink extends RestoreSink {
  migrated(): readonly WireRow[]
  /** Whether changes were for missing records. Final after `migrated`. */
  readonly owesRepair: boolean
}

/** `rows` and `ops` throw if a record of version `from` cannot be migrated. */
export function migratingSink(models: MigrationPlan, from: number): MigratingSink {
  const rows: WireRow[] = []
  const fold = new JournalFold()
  return {
    rows(stored) {
      for (const row of stored) rows.push(migrateRow(models, from, row))
    },
    ops: (stored) => fold.add(stored.map((op) => migrateOp(models, from, op))),
    migrated: () => [...fold.applyTo(rows), ...fold.rest()],
    get owesRepair() {
      return fold.owesRepair
    },
  }
}
