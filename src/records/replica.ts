import type { Clock } from '../base/environment.ts'
import type { Index } from '../models/model.ts'
import type { RowChange, RowSource } from '../protocol/fold.ts'
import type { WireRow } from '../protocol/row.ts'
import { readWhere } from './conditions.ts'
import { count } from './evaluate.ts'
import type { LiveQuery } from './live-query.ts'
import { Overlay, type OverlayChange } from './overlay.ts'
import { readQuery } from './query.ts'
import type { QuerySpec } from './query-spec.ts'
import { type DataRecord, Records } from './record.ts'
import { type QueryHost, ReplicaQuery } from './replica-query.ts'
import { type Copy, type Current, type Prepared, Staging } from './staging.ts'
import { Table } from './table.ts'
import { finish, type Work } from './turns.ts'

export interface ReplicaOptions {
  /** The indexes of each type. @default none */
  readonly indexes?: ReadonlyMap<string, readonly Index[]>
  readonly clock: Clock
  /** Hears what a listener or a filter of a query throws. */
  readonly onListenerError: (error: unknown) => void
}

/** The confirmed rows of the types that are here. */
export interface Rows extends RowSource {
  /** Whether records of `t` are here, if there are any; those that stay on disk until they are first used read as empty. */
  has(t: string): boolean
}

/**
 * The copy in memory, for reading synchronously. What a reader gets is immutable, and the same by reference until
 * it changes.
 */
export class Replica implements QueryHost, Current {
  readonly clock: Clock
  readonly records = new Records()
  readonly onListenerError: (error: unknown) => void
  /** The confirmed rows, for a fold. */
  readonly rows: Rows = {
    of: (t) => this.#overlay.under(t, this.table(t)),
    has: (t) => !this.#copy.unloaded.has(t),
  }
  /** The rows as they are shown, pending transactions included. */
  readonly shown: RowSource = { of: (t) => this.table(t) }
  readonly #overlay = new Overlay()
  readonly #indexes: ReadonlyMap<string, readonly Index[]>
  /** At first a part, of which nothing has come. */
  #copy: Copy = { tables: new Map(), unloaded: new Set(), isPart: true }
  readonly queries = new Set<ReplicaQuery>()
  readonly #changed = new Set<ReplicaQuery>()
  #telling = false

  constructor(options: ReplicaOptions) {
    this.clock = options.clock
    this.#indexes = options.indexes ?? new Map()
    this.onListenerError = options.onListenerError
  }

  /** Whether there is data to show, after the first `swap` of all of it, and the records of `t` are here. Until then queries are `pending`. */
  isReady(t?: string): boolean {
    return !this.#copy.isPart && (t === undefined || this.rows.has(t))
  }

  get(t: string, id: string): DataRecord | undefined {
    const row = this.table(t).get(id)
    return row && this.records.of(row)
  }

  getMany(t: string, ids: readonly string[]): readonly (DataRecord | undefined)[] {
    return ids.map((id) => this.get(t, id))
  }

  /** All records of a type, in no promised order. */
  all(t: string): readonly DataRecord[] {
    return this.table(t).all()
  }

  count(t: string, where?: QuerySpec['where']): number {
    return where ? count(this.table(t), readWhere(where)) : this.table(t).size
  }

  /** The row as the server last said. */
  confirmed(t: string, id: string): WireRow | undefined {
    return this.rows.of(t).get(id)
  }

  /** The row below the pending transaction `tx`: as the server last said, with the pending transactions before it on top. */
  below(tx: string, t: string, id: string): WireRow | undefined {
    return this.#overlay.covers(t, id) ? this.#overlay.below(tx, t, id) : this.confirmed(t, id)
  }

  /** The rows of a type as the server last said, in no promised order; they stay iterable while rows change. */
  *confirmedAll(t: string): Iterable<WireRow> {
    for (const row of this.table(t).rows()) if (!this.#overlay.covers(t, row.id)) yield row
    for (const { confirmed } of this.#overlay.of(t)) if (confirmed) yield confirmed
  }

  query(t: string, spec: QuerySpec): LiveQuery {
    return new ReplicaQuery(t, readQuery(spec), this)
  }

  /**
   * Takes over what a fold gave, and which transactions are laid over it, in one step. Live queries that it touches tell
   * once.
   */
  apply(changes: readonly RowChange[], overlay: OverlayChange = {}): void {
    this.#show(this.#overlay.settle(changes, overlay.lift))
    if (overlay.lay) this.#show(this.#overlay.lay(overlay.lay, this.shown))
    this.#tell()
  }

  /** Takes over what became of the rows that are shown. */
  #show(changes: readonly RowChange[]): void {
    const byType = new Map<string, RowChange[]>()
    for (const change of changes) {
      const ofType = byType.get(change.t)
      if (ofType) ofType.push(change)
      else byType.set(change.t, [change])
    }
    for (const [t, ofType] of byType) {
      const shown = this.table(t).apply(ofType)
      for (const query of this.queries) if (query.t === t && query.apply(shown)) this.#changed.add(query)
    }
  }

  /** Begins a second copy beside this one, to be filled and then put in its place; without the types `unloaded`. */
  stage(unloaded: ReadonlySet<string> = new Set()): Staging {
    return new Staging(this, unloaded)
  }

  /**
   * Puts a prepared copy in place of this one, with the transactions on top that are still pending, all but `lift`, in one
   * step. Live queries tell once, if their result is another. Of a part, they stay `pending`.
   */
  swap(staging: Staging, lift: Iterable<string> = []): void {
    this.#place(staging.finish())
    this.#overlay.settle([], lift)
    this.#show(this.#overlay.rebase(this.shown))
    this.#tell()
  }

  /**
   * Puts a prepared copy that holds `types` alone, which were not loaded, beside what is here, and applies what `rest` then
   * gives, in one step. Live queries of them become `ready`.
   */
  join(staging: Staging, types: ReadonlySet<string>, rest: () => readonly RowChange[]): void {
    const { tables, views } = staging.finish()
    const others = [...this.#copy.tables].filter(([t]) => !types.has(t))
    const unloaded = new Set([...this.#copy.unloaded].filter((t) => !types.has(t)))
    this.#place({ ...this.#copy, tables: new Map([...others, ...tables]), views, unloaded })
    // What was laid over them before knew no rows below.
    this.#show(this.#overlay.rebase(this.shown, types))
    this.apply(rest())
  }

  /** Puts `copy` in place of what is here. Each query whose table is another goes over to its view, made where `views` has none. */
  #place({ views, ...copy }: Prepared): void {
    const before = Array.from(this.queries, (query) => ({
      query,
      status: query.status,
      table: this.table(query.t),
    }))
    this.#copy = copy
    for (const { query, status, table } of before) {
      const now = this.table(query.t)
      const isOther = now !== table && query.replace(views.get(query) ?? finish(query.viewOver(now)))
      if (isOther || query.status !== status) this.#changed.add(query)
    }
  }

  table(t: string): Table {
    const known = this.#copy.tables.get(t)
    if (known) return known
    const table = finish(this.tableOver(t, new Map()))
    this.#copy.tables.set(t, table)
    return table
  }

  tableOver(t: string, rows: Map<string, WireRow>): Work<Table> {
    return Table.over(rows, this.#indexes.get(t) ?? [], this.records)
  }

  /** Tells each query once. What a listener changes is told after the rest have heard. */
  #tell(): void {
    if (this.#telling) return
    this.#telling = true
    try {
      for (const query of this.#changed) {
        this.#changed.delete(query)
        query.tell()
      }
    } finally {
      this.#telling = false
    }
  }
}
