import type { Cursor, LiveQuery } from '../client/types.ts'

/**
 * What a query gives: another object once its rows or its status change. All that is read of it is what the query gives
 * in that moment; what has been read, as its `rows`, stays as it was.
 */
export interface QueryResult<R> {
  /** `pending` until there is data. */
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

export class LiveResult<R> implements QueryResult<R> {
  readonly #query: LiveQuery<R>
  // What it gave first.
  readonly #status: 'pending' | 'ready'
  readonly #length: number
  #rows: readonly R[] | undefined
  /** The records of parts, by their place. */
  readonly #given = new Map<number, R>()

  constructor(query: LiveQuery<R>) {
    this.#query = query
    this.#status = query.status
    this.#length = query.length
  }

  get status(): 'pending' | 'ready' {
    return this.#query.status
  }

  get length(): number {
    return this.#query.length
  }

  get rows(): readonly R[] {
    const { rows } = this.#query
    this.#rows ??= rows
    return rows
  }

  /** Bound, since results are taken apart. */
  readonly slice = (from: number, to: number): readonly R[] => {
    const part = this.#query.slice(from, to)
    for (const [index, record] of part.entries()) {
      const place = Math.max(from, 0) + index
      if (!this.#given.has(place)) this.#given.set(place, record)
    }
    return part
  }

  get cursor(): Cursor | undefined {
    // It is where the rows end.
    this.#rows ??= this.#query.rows
    return this.#query.cursor
  }

  /** Whether all that was read of it is what the query gives now. */
  get isCurrent(): boolean {
    const query = this.#query
    return (
      this.#status === query.status &&
      this.#length === query.length &&
      (this.#rows === undefined || this.#rows === query.rows) &&
      [...this.#given].every(([place, record]) => query.slice(place, place + 1)[0] === record)
    )
  }
}
