import { rowKey } from '../protocol/fold.ts'
import type { Replica } from '../records/replica.ts'
import type { RecordChange } from './events.ts'

/** A record that something happens to. */
export interface TouchedRow {
  readonly t: string
  readonly id: string
  /** When it was changed, in ms since the epoch, where the server said so. */
  readonly at?: number | undefined
}

/** The records of `rows`, each once, as they are before; what it gives, called after, joins what they became. */
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
