import type { WireRow } from '../protocol/row.ts'
import { evaluate, type Matches } from './evaluate.ts'
import { type Walk, walk } from './index-range.ts'
import { partition } from './ordered-list.ts'
import type { Predicate } from './predicate.ts'
import type { Query } from './query.ts'
import type { Table } from './table.ts'
import type { Change } from './table-index.ts'
import type { Work } from './turns.ts'

/**
 * A query's result over one table. Kept up by `apply`; otherwise it is good for the table's `revision` that it was
 * made at.
 */
export class QueryResult {
  readonly #table: Table
  readonly #query: Query
  readonly #predicate: () => Predicate
  readonly #matches: Matches
  #revision: number
  #walk: Walk | undefined
  /** The last row, where the result is as long as it may be: what lies behind it changes nothing. */
  #last: WireRow | undefined

  private constructor(table: Table, query: Query, predicate: () => Predicate, matches: Matches) {
    this.#table = table
    this.#query = query
    this.#predicate = predicate
    this.#matches = matches
    this.#revision = table.revision
    this.#last = this.#findLast()
  }

  /** `predicate` gives one for each time that it goes over rows. */
  static *over(table: Table, query: Query, predicate: () => Predicate): Work<QueryResult> {
    return new QueryResult(table, query, predicate, yield* evaluate(table, query, predicate()))
  }

  /** Whether it still shows what is in `table`. */
  isFor(table: Table): boolean {
    return table === this.#table && table.revision === this.#revision
  }

  get length(): number {
    const matches = this.#walked()
    return Math.min(matches.length - this.#beginIn(matches), this.#query.limit)
  }

  /** The rows from `from` to `to`, the latter not included. */
  slice(from: number, to: number): readonly WireRow[] {
    const matches = this.#walked()
    const begin = this.#beginIn(matches)
    const end = Math.min(begin + Math.min(to, this.#query.limit), matches.length)
    return matches.slice(begin + from, end)
  }

  rows(): readonly WireRow[] {
    return this.slice(0, Number.POSITIVE_INFINITY)
  }

  /** Takes over what the table already has; gives whether the result is another. */
  apply(changes: readonly Change[]): boolean {
    const { own } = this.#matches
    let touched = false
    this.#walk = undefined
    const accepts = this.#predicate()
    for (const { before, after } of changes) {
      const match = after && accepts(after) ? after : undefined
      // An own list knows what is in it, and asks no filter.
      const was = own ? own.replace(before, match) : before && accepts(before)
      if ((was && before && this.#reaches(before)) || (match && this.#reaches(match))) touched = true
    }
    this.#revision = this.#table.revision
    if (touched) this.#last = this.#findLast()
    return touched
  }

  /** Whether a match at the place of `row` would be in the result. */
  #reaches(row: WireRow): boolean {
    const { after, limit, order } = this.#query
    if (limit === 0 || (after && order.compare(row, after) <= 0)) return false
    return !this.#last || order.compare(row, this.#last) <= 0
  }

  #walked(): Walk {
    // A filter may read a query that the change has not come to yet, or its own.
    if (this.#revision !== this.#table.revision) return walk(this.#matches)
    this.#walk ??= walk(this.#matches)
    return this.#walk
  }

  #findLast(): WireRow | undefined {
    const { limit } = this.#query
    if (limit === 0 || limit === Number.POSITIVE_INFINITY) return undefined
    const matches = this.#walked()
    const end = this.#beginIn(matches) + limit
    return end <= matches.length ? matches.slice(end - 1, end)[0] : undefined
  }

  /** How many matches lie before the result. */
  #beginIn(matches: Walk): number {
    const { after, order } = this.#query
    if (!after) return 0
    return partition(matches.length, (index) => {
      const [row] = matches.slice(index, index + 1)
      return row !== undefined && order.compare(row, after) <= 0
    })
  }
}
