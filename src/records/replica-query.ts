import { Emitter, type Listener, type Unsubscribe } from '../base/emitter.ts'
import type { WireRow } from '../protocol/row.ts'
import type { LiveQuery } from './live-query.ts'
import { cursorAt } from './order.ts'
import { predicateOf } from './predicate.ts'
import type { Query } from './query.ts'
import { QueryResult } from './query-result.ts'
import type { Cursor } from './query-spec.ts'
import type { DataRecord, Records } from './record.ts'
import type { Table } from './table.ts'
import type { Change } from './table-index.ts'
import { runToEnd, type Work } from './turns.ts'

/** The part of the replica that a query uses. */
export interface QueryHost {
  /** Whether all records of the type `t` are in memory. */
  isReady(t: string): boolean
  readonly records: Records
  readonly onListenerError: (error: unknown) => void
  table(t: string): Table
  /** The queries that have subscribers and are kept up to date. */
  readonly queries: Set<ReplicaQuery>
}

/** A live query over the tables of a replica. */
export class ReplicaQuery implements LiveQuery {
  readonly t: string
  readonly #query: Query
  readonly #host: QueryHost
  readonly #emitter: Emitter<{ change: LiveQuery }>
  #result: QueryResult | undefined
  #rows: readonly DataRecord[] = []
  /** Whether `#rows` may be out of date, so that the next read computes it. */
  #stale = true

  constructor(t: string, query: Query, host: QueryHost) {
    this.t = t
    this.#query = query
    this.#host = host
    this.#emitter = new Emitter(host.onListenerError)
  }

  get rows(): readonly DataRecord[] {
    const result = this.#current()
    if (this.#stale) {
      const rows = this.#recordsOf(result.rows())
      if (!sameItems(rows, this.#rows)) this.#rows = Object.freeze(rows)
      this.#stale = false
    }
    return this.#rows
  }

  get length(): number {
    return this.#current().length
  }

  slice(from: number, to: number): readonly DataRecord[] {
    return this.#recordsOf(this.#current().slice(Math.max(from, 0), to))
  }

  get status(): 'pending' | 'ready' {
    return this.#host.isReady(this.t) ? 'ready' : 'pending'
  }

  get cursor(): Cursor | undefined {
    const last = this.rows.at(-1)
    return last && cursorAt({ id: last.id, p: last }, this.#query.order)
  }

  subscribe(listener: Listener<LiveQuery>): Unsubscribe {
    this.#current()
    this.#host.queries.add(this)
    const unsubscribe = this.#emitter.on('change', listener)
    return () => {
      unsubscribe()
      if (!this.#emitter.has('change')) this.#host.queries.delete(this)
    }
  }

  /** Computes the query's result over another table. */
  resultOver(table: Table): Work<QueryResult> {
    const { records, onListenerError } = this.#host
    return QueryResult.over(table, this.#query, () => predicateOf(this.#query, records, onListenerError))
  }

  /** Updates the result after the table has applied `changes`. Returns whether the result has changed. */
  apply(changes: readonly Change[]): boolean {
    const changed = this.#current().apply(changes)
    this.#stale ||= changed
    return changed
  }

  /** Switches to the result over another table. Returns whether the result has changed. */
  replace(result: QueryResult): boolean {
    const before = this.#current().rows()
    const after = result.rows()
    this.#result = result
    const changed =
      before.length !== after.length ||
      before.some(({ id, p }, index) => id !== after[index]?.id || p !== after[index].p)
    this.#stale ||= changed
    return changed
  }

  notify(): void {
    this.#emitter.emit('change', this)
  }

  #recordsOf(rows: readonly WireRow[]): DataRecord[] {
    return rows.map((row) => this.#host.records.of(row))
  }

  #current(): QueryResult {
    const { queries } = this.#host
    const table = this.#host.table(this.t)
    if (this.#result && (queries.has(this) || this.#result.isFor(table))) return this.#result
    this.#result = runToEnd(this.resultOver(table))
    this.#stale = true
    return this.#result
  }
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index])
}
