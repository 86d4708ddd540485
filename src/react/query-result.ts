import type { Cursor, LiveQuery } from '../client/types.ts'
import type { Reading } from './source.ts'

/**
 * What a query gives: another object once its rows or its status change. All that is read of it is what the query gives
 * in that moment; what has been read, as its `rows`, stays as it was.
 */
export interface QueryResult<R> {
  /** `pending` until there is data; the rows are then what has come of it, if anything is shown before the rest. */
  readonly status: 'pending' | 'ready'
  /** The same array until a row of it changes. It is made when it is read. */
  readonly rows: readonly R[]
  /** How many rows there are; asking for it makes none. */
  readonly length: number
  /** The rows from place `from` to place `to`, the latter not included: what a long list shows. */
  readonly slice: (from: number, to: number) => readonly R[]
  /** Where the result ends, for the `after` of the next page; `undefined` where it is empty. */
  readonly cursor: Cursor | undefined
}

/** What is known before there is a client: on the server, and while a page that it rendered is taken over. */
export const noResult: QueryResult<never> = Object.freeze({
  status: 'pending',
  rows: Object.freeze([]),
  length: 0,
  slice: () => [],
  cursor: undefined,
})

/** Its members are the result's own, so that a copy, as `{ ...result }`, has them, too. */
export function readResult<R>(query: LiveQuery<R>): Reading<QueryResult<R>> {
  // What it gave first.
  const { status, length } = query
  let rows: readonly R[] | undefined
  /** The records of parts, by their place. */
  const given = new Map<number, R>()
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
        // It is where the rows end.
        rows ??= query.rows
        return query.cursor
      },
      slice: (from, to) => {
        const part = query.slice(from, to)
        for (const [index, record] of part.entries()) {
          const place = Math.max(from, 0) + index
          if (!given.has(place)) given.set(place, record)
        }
        return part
      },
    },
    isCurrent: () =>
      status === query.status &&
      length === query.length &&
      (rows === undefined || rows === query.rows) &&
      [...given].every(([place, record]) => query.slice(place, place + 1)[0] === record),
  }
}
