import type { Clock } from '../base/world.ts'
import type { Index } from '../models/model.ts'
import type { RowChange, RowSource } from '../protocol/fold.ts'
import type { WireRow } from '../protocol/row.ts'
import { readWhere } from './conditions.ts'
import { count } from './evaluate.ts'
import { Overlay, type OverlayChange } from './overlay.ts'
import { readQuery } from './query.ts'
import type { QuerySpec } from './query-spec.ts'
import { type DataRecord, Records } from './record.ts'
import type { LiveQuery, Replica, Rows } from './replica.ts'
import { type QueryHost, ReplicaQuery } from './replica-query.ts'
import { type Copy, type Current, type Prepared, StagedCopy } from './staging.ts'
import { Table } from './table.ts'
import { finish, type Work } from './turns.ts'

export interface ReplicaOptions {
  /** The indexes of each type. @default none */
  readonly indexes?: ReadonlyMap<string, readonly Index[]>
  readonly clock: Clock
  /** Hears what a listener or a filter of a query throws. */
  readonly onListenerError: (error: unknown) => void
}

export function createReplica(options: ReplicaOptions): Replica {
  return new MemoryReplica(options)
}

class MemoryReplica implements Replica, QueryHost, Current {
  readonly clock: Clock
  readonly records = new Records()
  readonly onListenerError: (error: unknown) => void
  readonly rows: Rows = {
    of: (t) => this.#overlay.under(t, this.table(t)),
    has: (t) => !this.#copy.unloaded.has(t),
  }
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

  all(t: string): readonly DataRecord[] {
    return this.table(t).all()
  }

  count(t: string, where?: QuerySpec['where']): number {
    return where ? count(this.table(t), readWhere(where)) : this.table(t).size
  }

  confirmed(t: string, id: string): WireRow | undefined {
    return this.rows.of(t).get(id)
  }

  below(tx: string, t: string, id: string): WireRow | undefined {
    return this.#overlay.covers(t, id) ? this.#overlay.below(tx, t, id) : this.confirmed(t, id)
  }

  *confirmedAll(t: string): Iterable<WireRow> {
    for (const row of this.table(t).rows()) if (!this.#overlay.covers(t, row.id)) yield row
    for (const { confirmed } of this.#overlay.of(t)) if (confirmed) yield confirmed
  }

  query(t: string, spec: QuerySpec): LiveQuery {
    return new ReplicaQuery(t, readQuery(spec), this)
  }

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

  stage(unloaded: ReadonlySet<string> = new Set()): StagedCopy {
    return new StagedCopy(this, unloaded)
  }

  swap(staging: StagedCopy, lift: Iterable<string> = []): void {
    this.#place(staging.finish())
    this.#overlay.settle([], lift)
    this.#show(this.#overlay.rebase(this.shown))
    this.#tell()
  }

  join(staging: StagedCopy, types: ReadonlySet<string>, rest: () => readonly RowChange[]): void {
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
