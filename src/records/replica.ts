import type { Clock } from '../base/environment.ts'
import { readWhere } from '../models/conditions.ts'
import type { Index } from '../models/model.ts'
import type { RowChange, RowSource } from '../protocol/fold.ts'
import type { WireRow } from '../protocol/row.ts'
import { count } from './evaluate.ts'
import type { LiveQuery } from './live-query.ts'
import { Overlay, type OverlayChange } from './overlay.ts'
import { readQuery } from './query.ts'
import type { QuerySpec } from './query-spec.ts'
import { type DataRecord, Records } from './record.ts'
import { type QueryHost, ReplicaQuery } from './replica-query.ts'
import { type ShownChange, ShownChanges } from './shown-changes.ts'
import { type Copy, type Prepared, Staging, type StagingHost } from './staging.ts'
import { Table } from './table.ts'
import { runToEnd, type Work } from './turns.ts'

export interface ReplicaOptions {
  /** The indexes of each type. @default none */
  readonly indexes?: ReadonlyMap<string, readonly Index[]>
  readonly clock: Clock
  /** Called with each error that a listener or a query's filter throws. */
  readonly onListenerError: (error: unknown) => void
}

/** The confirmed rows of the types that are in memory. */
export interface Rows extends RowSource {
  /** Whether the records of `t` are in memory. A lazy type that is not loaded reads as empty. */
  has(t: string): boolean
}

/**
 * The local copy in memory, read synchronously. Records and results are immutable, and the same object until they
 * change.
 */
export class Replica implements QueryHost, StagingHost {
  readonly clock: Clock
  readonly records = new Records()
  readonly onListenerError: (error: unknown) => void
  /** The confirmed rows, to which changes from the server apply. */
  readonly rows: Rows = {
    of: (t) => this.#overlay.confirmedRows(t, this.table(t)),
    has: (t) => !this.#copy.unloaded.has(t),
  }
  /** The rows as shown, including the pending transactions. */
  readonly shown: RowSource = { of: (t) => this.table(t) }
  readonly #overlay = new Overlay()
  readonly #indexes: ReadonlyMap<string, readonly Index[]>
  /** An empty, partial copy until the first `swap`. */
  #copy: Copy = { tables: new Map(), unloaded: new Set(), isPart: true }
  readonly queries = new Set<ReplicaQuery>()
  readonly #changed = new Set<ReplicaQuery>()
  readonly #shownChanges = new ShownChanges()

  constructor(options: ReplicaOptions) {
    this.clock = options.clock
    this.#indexes = options.indexes ?? new Map()
    this.onListenerError = options.onListenerError
  }

  /**
   * Whether a complete copy is in memory and, if `t` is passed, the records of `t` are loaded. Queries are `pending`
   * until then.
   */
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

  /** All records of a type, in no particular order. */
  all(t: string): readonly DataRecord[] {
    return this.table(t).all()
  }

  count(t: string, where?: QuerySpec['where']): number {
    return where ? count(this.table(t), readWhere(where)) : this.table(t).size
  }

  /** The row without the pending transactions. */
  confirmed(t: string, id: string): WireRow | undefined {
    return this.rows.of(t).get(id)
  }

  /** The row before the pending transaction `tx`: the confirmed row with the earlier pending transactions applied. */
  below(tx: string, t: string, id: string): WireRow | undefined {
    return this.#overlay.covers(t, id) ? this.#overlay.below(tx, t, id) : this.confirmed(t, id)
  }

  /** The confirmed rows of a type, in no particular order. The iteration may continue while rows change. */
  *confirmedAll(t: string): Iterable<WireRow> {
    for (const row of this.table(t).rows()) if (!this.#overlay.covers(t, row.id)) yield row
    for (const { confirmed } of this.#overlay.of(t)) if (confirmed) yield confirmed
  }

  query(t: string, spec: QuerySpec): LiveQuery {
    return new ReplicaQuery(t, readQuery(spec), this)
  }

  /**
   * Applies changes of confirmed rows, and adds and removes pending transactions, in one step. `kind`: `mutation` if
   * the user wrote or undid the transactions.
   */
  apply(
    changes: readonly RowChange[],
    overlay: OverlayChange = {},
    kind: 'delta' | 'mutation' = 'delta',
  ): void {
    this.#show(this.#overlay.settle(changes, overlay.remove), kind)
    if (overlay.add) this.#show(this.#overlay.add(overlay.add, this.shown), kind)
  }

  /** Notifies the subscribers of each query whose result or status has changed since the last call. */
  notify(): void {
    const changed = [...this.#changed]
    this.#changed.clear()
    for (const query of changed) query.notify()
  }

  /**
   * Returns what has changed in the shown records since the last call; `undefined` if nothing has, or if it `isNeeded` by
   * nobody: making the records takes as long as changing them.
   */
  takeChange(isNeeded: boolean): ShownChange | undefined {
    return this.#shownChanges.take(isNeeded ? this.records : undefined)
  }

  /** Applies changes of the shown rows. */
  #show(changes: readonly RowChange[], kind: ShownChange['kind']): void {
    this.#shownChanges.add(kind, changes)
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

  /** Begins a second copy, without the types `unloaded`. Fill it, then pass it to `swap` or `join`. */
  stage(unloaded: ReadonlySet<string> = new Set()): Staging {
    return new Staging(this, unloaded)
  }

  /**
   * Replaces the current copy by a prepared one, and applies the pending transactions, except `remove`, on top, in one
   * step. If the prepared copy is partial, queries stay `pending`.
   */
  swap(staging: Staging, remove: Iterable<string> = []): void {
    this.#install(staging.finish())
    this.#overlay.settle([], remove)
    this.#show(this.#overlay.rebase(this.shown), 'snapshot')
  }

  /**
   * Adds a prepared copy of the types `types`, which were not loaded, to the current copy. Then applies the changes
   * that `rest` returns. Both happen in one step. Live queries of these types become `ready`.
   */
  join(staging: Staging, types: ReadonlySet<string>, rest: () => readonly RowChange[]): void {
    const { tables, results } = staging.finish()
    const others = [...this.#copy.tables].filter(([t]) => !types.has(t))
    const unloaded = new Set([...this.#copy.unloaded].filter((t) => !types.has(t)))
    this.#install({ ...this.#copy, tables: new Map([...others, ...tables]), results, unloaded })
    // The pending transactions on these types were added without confirmed rows: apply them again.
    this.#show(this.#overlay.rebase(this.shown, types), 'snapshot')
    this.apply(rest())
  }

  /**
   * Replaces the current copy. Each query whose table has changed switches to its result in `results`, or to one computed
   * now.
   */
  #install({ results, ...copy }: Prepared): void {
    const before = Array.from(this.queries, (query) => ({
      query,
      status: query.status,
      table: this.table(query.t),
    }))
    this.#copy = copy
    for (const { query, status, table } of before) {
      const newTable = this.table(query.t)
      const isOther =
        newTable !== table && query.replace(results.get(query) ?? runToEnd(query.resultOver(newTable)))
      if (isOther || query.status !== status) this.#changed.add(query)
    }
  }

  table(t: string): Table {
    const known = this.#copy.tables.get(t)
    if (known) return known
    const table = runToEnd(this.tableOver(t, new Map()))
    this.#copy.tables.set(t, table)
    return table
  }

  tableOver(t: string, rows: Map<string, WireRow>): Work<Table> {
    return Table.over(rows, this.#indexes.get(t) ?? [], this.records)
  }
}
