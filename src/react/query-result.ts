import type { Cursor, LiveQuery } from '../client/types.ts'
import type { Reading } from './source.ts'

/**
 * The result of a query. The same object until the rows or the status change. Each property returns the current value
 * of the query; values that were read before, such as an array of rows, do not change.
 */
export interface QueryResult<R> {
  /** `pending` until there is complete data. While `pending`, there may be rows of a part of the first snapshot. */
  readonly status: 'pending' | 'ready'
  /** The records. The same array until a row changes. Reading the property creates the array. */
  readonly rows: readonly R[]
  /** The number of rows. Does not create the array. */
  readonly length: number
  /** The rows from index `from` up to, but not including, `to`. For the visible part of a long list. */
  readonly slice: (from: number, to: number) => readonly R[]
  /** The end of the result, for the `after` of the next page; `undefined` if there are no rows. */
  readonly cursor: Cursor | undefined
}

/** The result while rendering on the server and during hydration. */
export const noResult: QueryResult<never> = Object.freeze({
  status: 'pending',
  rows: Object.freeze([]),
  length: 0,
  slice: () => [],
  cursor: undefined,
})

/**
 * The reading of `query`. The properties are own properties of the result, so that a copy like `{ ...result }` has
 * them.
 */
export function readResult<R>(query: LiveQuery<R>): Reading<QueryResult<R>> {
  // The values at the time of the reading.
  const { status, length } = query
  let rows: readonly R[] | undefined
  /** The records that `slice` has returned, by index. */
  const sliced = new Map<number, R>()
  return {
    value: {
      get status() {
        return query.status
      },
      get length() {
        return query.length
      },
      get rows() {
        rows ??= query.rows
        return query.rows
      },
      get cursor() {
        // The cursor depends on the last row, so reading it counts as reading the rows.
        rows ??= query.rows
        return query.cursor
      },
      slice: (from, to) => {
        const part = query.slice(from, to)
        for (const [index, record] of part.entries()) {
          const position = Math.max(from, 0) + index
          if (!sliced.has(position)) sliced.set(position, record)
        }
        return part
      },
    },
    isCurrent: () =>
      status === query.status &&
      length === query.length &&
      (rows === undefined || rows === query.rows) &&
      [...sliced].every(([index, record]) => query.slice(index, index + 1)[0] === record),
  }
}
