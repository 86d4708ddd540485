import type { Listener, Unsubscribe } from '../base/emitter.ts'
import type { Cursor } from './query-spec.ts'
import type { DataRecord } from './record.ts'

/** A query and its result. The result is kept up only while somebody is subscribed, else computed when asked for. */
export interface LiveQuery<R = DataRecord> {
  /** The same array until the result changes. It is made when it is read. */
  readonly rows: readonly R[]
  /** How many rows the result has; asking for it makes none. */
  readonly length: number
  /**
   * The rows from place `from` to place `to`, the latter not included: what a list shows of a long result. It costs by
   * what it gives, whatever the length.
   */
  slice(from: number, to: number): readonly R[]
  /** `pending` until there is data; the rows are then what has come of it, if anything is shown before the rest. */
  readonly status: 'pending' | 'ready'
  /** Where the result ends, for the `after` of the next page; `undefined` where it is empty. */
  readonly cursor: Cursor | undefined
  /** Calls `listener` after each change of `rows` or `status`. */
  subscribe(listener: Listener<LiveQuery<R>>): Unsubscribe
}
