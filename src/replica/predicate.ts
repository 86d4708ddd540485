import type { WireRow } from '../protocol/row.ts'
import type { Query } from './query.ts'
import type { Records } from './record.ts'

/** Decides whether a row belongs to a query. A filter that throws says no, and is told of once in a while. */
export class Predicate {
  readonly #query: Query
  readonly #records: Records
  readonly #onError: (error: unknown) => void
  #told = false

  constructor(query: Query, records: Records, onError: (error: unknown) => void) {
    this.#query = query
    this.#records = records
    this.#onError = onError
  }

  accepts(row: WireRow): boolean {
    const { where, filter } = this.#query
    if (!where.accepts(row)) return false
    if (!filter) return true
    try {
      return filter(this.#records.of(row))
    } catch (error) {
      if (!this.#told) this.#onError(error)
      this.#told = true
      return false
    }
  }

  /** The next error is told again. */
  rearm(): void {
    this.#told = false
  }
}
