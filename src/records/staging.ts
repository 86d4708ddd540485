import type { Clock } from '../base/environment.ts'
import {
  applyOp,
  type RowOp,
  type RowSource,
  type RowsOfType,
  reuse,
  UnknownRecords,
} from '../protocol/fold.ts'
import type { WireRow } from '../protocol/row.ts'
import type { QueryResult } from './query-result.ts'
import type { ReplicaQuery } from './replica-query.ts'
import type { Table } from './table.ts'
import { runInSlices, runToEnd, stride, type Work } from './turns.ts'

/** The part of the replica that staging uses. */
export interface StagingHost {
  readonly clock: Clock
  table(t: string): Table
  /** Makes a table of the type `t`, with its indexes. */
  tableOver(t: string, rows: Map<string, WireRow>): Work<Table>
  /** The queries that are kept up to date. */
  readonly queries: Iterable<ReplicaQuery>
}

/** A copy of the data, swapped in as a whole. */
export interface Copy {
  readonly tables: Map<string, Table>
  /** The lazy types that are not loaded. */
  readonly unloaded: ReadonlySet<string>
  /** Whether the copy is incomplete, and the rest is still to come. */
  readonly isPart: boolean
}

export interface Prepared extends Copy {
  readonly results: ReadonlyMap<ReplicaQuery, QueryResult>
}

const none: RowsOfType = new Map<string, WireRow>()

/** A copy that nothing reads yet. Add its rows, prepare it, then swap it in. */
export class Staging {
  readonly #current: StagingHost
  readonly #isPart: boolean
  readonly #unloaded: Set<string>
  readonly #rows = new Map<string, Map<string, WireRow>>()
  readonly #unknown = new UnknownRecords()
  #prepared: Prepared | undefined
  readonly rows: RowSource = { of: (t) => this.#rows.get(t) ?? none }

  constructor(current: StagingHost, unloaded: Iterable<string>, isPart = false) {
    this.#current = current
    this.#unloaded = new Set(unloaded)
    this.#isPart = isPart
  }

  /** The types that are left out: rows and ops of these types are dropped. */
  get unloaded(): ReadonlySet<string> {
    return this.#unloaded
  }

  /** Accepts rows and ops of `types` from now on. */
  include(types: Iterable<string>): void {
    for (const t of types) this.#unloaded.delete(t)
  }

  /** Forgets the rows of `types`. @default all */
  clear(types: Iterable<string> = [...this.#rows.keys()]): void {
    for (const t of types) this.#rows.delete(t)
  }

  add(rows: readonly WireRow[]): void {
    for (const row of rows) if (!this.#unloaded.has(row.t)) this.#of(row.t).set(row.id, row)
  }

  apply(ops: readonly RowOp[]): void {
    for (const op of ops) {
      if (this.#unloaded.has(op.t)) continue
      const before = this.rows.of(op.t).get(op.id)
      this.#unknown.note(op, before !== undefined)
      const row = applyOp(before, op)
      if (row) this.#of(op.t).set(op.id, row)
      else this.#of(op.t).delete(op.id)
    }
  }

  /** The first `u` for each missing record among the applied ops, unless a later op inserts or deletes the record. */
  get unknown(): readonly RowOp[] {
    return this.#unknown.ops
  }

  /**
   * Resolves with a prepared copy of the current rows, to be swapped in while the rest arrives. Add nothing until then.
   */
  async part(): Promise<Staging> {
    const part = new Staging(this.#current, [], true)
    await runInSlices(this.#current.clock, part.#copy(this))
    await part.prepare()
    return part
  }

  /** Does the long work of the swap in advance, in short turns. Add nothing afterwards. */
  async prepare(): Promise<void> {
    this.#prepared = await runInSlices(this.#current.clock, this.#prepare())
  }

  /** The prepared copy. Prepares it now if `prepare` was not called. */
  finish(): Prepared {
    this.#prepared ??= runToEnd(this.#prepare())
    return this.#prepared
  }

  *#prepare(): Work<Prepared> {
    const tables = new Map<string, Table>()
    for (const [t, rows] of this.#rows) {
      yield* reuseRows(this.#current.table(t), rows)
      tables.set(t, yield* this.#current.tableOver(t, rows))
    }
    const results = new Map<ReplicaQuery, QueryResult>()
    // Iterate over a copy: queries may be added in each turn. The swap computes their results.
    for (const query of [...this.#current.queries]) {
      const table = tables.get(query.t)
      if (table) results.set(query, yield* query.resultOver(table))
    }
    return { tables, results, unloaded: this.#unloaded, isPart: this.#isPart }
  }

  *#copy(whole: Staging): Work<void> {
    for (const [t, rows] of whole.#rows) {
      const copied = this.#of(t)
      for (const [id, row] of rows) {
        copied.set(id, row)
        if (copied.size % stride === 0) yield
      }
    }
  }

  #of(t: string): Map<string, WireRow> {
    const rows = this.#rows.get(t) ?? new Map<string, WireRow>()
    this.#rows.set(t, rows)
    return rows
  }
}

/** Keeps the old row object if its content is the same, so that its record stays the same object. */
function* reuseRows(table: Table, rows: Map<string, WireRow>): Work<void> {
  if (table.size === 0) return
  let seen = 0
  for (const [id, row] of rows) {
    const old = table.get(id)
    if (old) rows.set(id, reuse(old, row))
    seen += 1
    if (seen % stride === 0) yield
  }
}
