import type { WireRow } from '../protocol/row.ts'
import { evaluate, type QueryMatches } from './evaluate.ts'
import { type RangeScan, scanRange } from './index-range.ts'
import { partition } from './ordered-list.ts'
import type { Predicate } from './predicate.ts'
import type { Query } from './query.ts'
import type { Table } from './table.ts'
import type { Change } from './table-index.ts'
import type { Work } from './turns.ts'

/**
 * The result of a query over one table. `apply` keeps the result up to date. Without `apply`, the result is valid only
 * for the table's `revision` at which it was made.
 */
export class QueryResult {
  readonly #table: Table
  readonly #query: Query
  readonly #predicate: () => Predicate
  readonly #matches: QueryMatches
  #revision: number
  #scan: RangeScan | undefined
  /** The last row, if the result has reached its limit: changes after that row do not affect the result. */
  #last: WireRow | undefined

  private constructor(table: Table, query: Query, predicate: () => Predicate, matches: QueryMatches) {
    this.#table = table
    this.#query = query
    this.#predicate = predicate
    this.#matches = matches
    this.#revision = table.revision
    this.#last = this.#findLast()
  }

  /** Computes the result. `predicate` is called once for each pass over rows. */
  static *over(table: Table, query: Query, predicate: () => Predicate): Work<QueryResult> {
    return new QueryResult(table, query, predicate, yield* evaluate(table, query, predicate()))
  }

  /** Whether the result is valid for `table` as it is now. */
  isFor(table: Table): boolean {
    return table === this.#table && table.revision === this.#revision
  }

  get length(): number {
    const matches = this.#currentScan()
    return Math.min(matches.length - this.#beginIn(matches), this.#query.limit)
  }

  /** The rows from index `from` up to, but not including, index `to`. */
  slice(from: number, to: number): readonly WireRow[] {
    const matches = this.#currentScan()
    const begin = this.#beginIn(matches)
    const end = Math.min(begin + Math.min(to, this.#query.limit), matches.length)
    return matches.slice(begin + from, end)
  }

  rows(): readonly WireRow[] {
    return this.slice(0, Number.POSITIVE_INFINITY)
  }

  /** Updates the result after the table has applied `changes`. Returns whether the result has changed. */
  apply(changes: readonly Change[]): boolean {
    const { list } = this.#matches
    let isChanged = false
    this.#scan = undefined
    const accepts = this.#predicate()
    for (const { before, after } of changes) {
      const match = after && accepts(after) ? after : undefined
      // A list knows the rows it holds, so the filter need not be called for `before`.
      const hadMatch = list ? list.replace(before, match) : before && accepts(before)
      if ((hadMatch && before && this.#reaches(before)) || (match && this.#reaches(match))) isChanged = true
    }
    this.#revision = this.#table.revision
    if (isChanged) this.#last = this.#findLast()
    return isChanged
  }

  /** Whether a match at the place of `row` belongs to the result. */
  #reaches(row: WireRow): boolean {
    const { after, limit, order } = this.#query
    if (limit === 0 || (after && order.compare(row, after) <= 0)) return false
    return !this.#last || order.compare(row, this.#last) <= 0
  }

  #currentScan(): RangeScan {
    // A filter may read this query, or another one, before `apply` has updated it. Do not keep the scan then.
    if (this.#revision !== this.#table.revision) return scanRange(this.#matches)
    this.#scan ??= scanRange(this.#matches)
    return this.#scan
  }

  #findLast(): WireRow | undefined {
    const { limit } = this.#query
    if (limit === 0 || limit === Number.POSITIVE_INFINITY) return undefined
    const matches = this.#currentScan()
    const end = this.#beginIn(matches) + limit
    return end <= matches.length ? matches.slice(end - 1, end)[0] : undefined
  }

  /** The number of matches before the result. */
  #beginIn(matches: RangeScan): number {
    const { after, order } = this.#query
    if (!after) return 0
    return partition(matches.length, (index) => {
      const [row] = matches.slice(index, index + 1)
      return row !== undefined && order.compare(row, after) <= 0
    })
  }
}
