import type { WireRow } from '../protocol/row.ts'
import type { Query } from './query.ts'
import type { Records } from './record.ts'

/** Whether a row matches a query. */
export type Predicate = (row: WireRow) => boolean

/**
 * Returns the predicate of a query. A row for which the filter throws does not match. `onError` is called with the
 * first error only.
 */
export function predicateOf(
  { where, filter }: Query,
  records: Records,
  onError: (error: unknown) => void,
): Predicate {
  if (!filter) return where.accepts
  let isReported = false
  return (row) => {
    if (!where.accepts(row)) return false
    try {
      return filter(records.of(row))
    } catch (error) {
      if (!isReported) onError(error)
      isReported = true
      return false
    }
  }
}
