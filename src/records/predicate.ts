import type { WireRow } from '../protocol/row.ts'
import type { Query } from './query.ts'
import type { Records } from './record.ts'

/** Whether a row belongs to a query. */
export type Predicate = (row: WireRow) => boolean

/** A filter that throws says no, which `onError` hears once. */
export function predicateOf(
  { where, filter }: Query,
  records: Records,
  onError: (error: unknown) => void,
): Predicate {
  if (!filter) return where.accepts
  let isTold = false
  return (row) => {
    if (!where.accepts(row)) return false
    try {
      return filter(records.of(row))
    } catch (error) {
      if (!isTold) onError(error)
      isTold = true
      return false
    }
  }
}
