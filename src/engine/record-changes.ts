import { rowKey } from '../protocol/fold.ts'
import type { Replica } from '../records/replica.ts'
import type { RecordChange } from './events.ts'

/** A record that is about to change. */
export interface TouchedRow {
  readonly t: string
  readonly id: string
  /** When the change was made, in ms since the epoch, if the server says. */
  readonly at?: number | undefined
}

/**
 * Reads the records of `rows`, each once, before a change. Call the returned function after the change: it returns each
 * record before and after.
 */
export function recordChanges(replica: Replica, rows: readonly TouchedRow[]): () => readonly RecordChange[] {
  const touched = new Map<string, TouchedRow>()
  for (const row of rows) {
    const key = rowKey(row.t, row.id)
    if (!touched.has(key)) touched.set(key, row)
  }
  const before = Array.from(touched.values(), (row) => ({ row, record: replica.get(row.t, row.id) }))
  return () =>
    before.map(({ row: { t, id, at }, record }) => ({
      type: t,
      id,
      before: record,
      after: replica.get(t, id),
      ...(at === undefined ? undefined : { at }),
    }))
}
