import type { Listener, Unsubscribe } from '../base/emitter.ts'
import type { Cursor } from './query-spec.ts'
import type { DataRecord } from './record.ts'

/**
 * A query and its result. While the query has a subscriber, the result is updated with each change. Otherwise it is
 * computed when it is read.
 */
export interface LiveQuery<R = DataRecord> {
  /**
   * The matching records, in order. The same frozen array until the result changes. The array is made when it is read.
   */
  readonly rows: readonly R[]
  /** The number of rows in the result. Reading it makes no records. */
  readonly length: number
  /**
   * The rows from index `from` up to, but not including, index `to`. The cost depends on the number of rows returned,
   * not on the length of the result.
   */
  slice(from: number, to: number): readonly R[]
  /**
   * `pending` until all data of the type is in memory. Until then, `rows` holds the records that have arrived, if part
   * of a snapshot is shown.
   */
  readonly status: 'pending' | 'ready'
  /** The place of the last row, for `after` in the query of the next page; `undefined` if the result is empty. */
  readonly cursor: Cursor | undefined
  /** Calls `listener` after each change of `rows` or `status`. */
  subscribe(listener: Listener<LiveQuery<R>>): Unsubscribe
}
