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
import { finish, runInSlices, stride, type Work } from './turns.ts'

/** What staging sees of the copy that it is to replace. */
export interface Current {
  readonly clock: Clock
  table(t: string): Table
  /** A table of the type `t`, with its indexes. */
  tableOver(t: string, rows: Map<string, WireRow>): Work<Table>
  /** Those that are kept up. */
  readonly queries: Iterable<ReplicaQuery>
}

/** What is put in place as one. */
export interface Copy {
  readonly tables: Map<string, Table>
  /** The types whose rows stay on the disk. */
  readonly unloaded: ReadonlySet<string>
  /** Whether more is to come than it holds. */
  readonly isPart: boolean
}

export interface Prepared extends Copy {
  readonly views: ReadonlyMap<ReplicaQuery, QueryResult>
}

const none: RowsOfType = new Map<string, WireRow>()

/** A copy that nobody reads yet: rows are gathered, and then prepared for their place. */
export class Staging {
  readonly #current: Current
  readonly #isPart: boolean
  readonly #unloaded: Set<string>
  readonly #rows = new Map<string, Map<string, WireRow>>()
  readonly #unknown = new UnknownRecords()
  #prepared: Prepared | undefined
  readonly rows: RowSource = { of: (t) => this.#rows.get(t) ?? none }

  constructor(current: Current, unloaded: Iterable<string>, isPart = false) {
    this.#current = current
    this.#unloaded = new Set(unloaded)
    this.#isPart = isPart
  }

  /** The types that it has no place for: what is added of them is dropped. */
  get unloaded(): ReadonlySet<string> {
    return this.#unloaded
  }

  /** Has a place for `types`, too, from now on. */
  include(types: Iterable<string>): void {
    for (const t of types) this.#unloaded.delete(t)
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

  /** Of what was applied, the first `u` of each record that is not here, nor made or removed behind it. */
  get unknown(): readonly RowOp[] {
    return this.#unknown.ops
  }

  /** What it holds so far, prepared to be swapped in while the rest comes. Nothing may be added before that resolves. */
  async part(): Promise<Staging> {
    const part = new Staging(this.#current, [], true)
    await runInSlices(this.#current.clock, part.#copy(this))
    await part.prepare()
    return part
  }

  /** Does the long work of the swap beforehand, in short turns. Nothing may be added after it. */
  async prepare(): Promise<void> {
    this.#prepared = await runInSlices(this.#current.clock, this.#prepare())
  }

  /** What was prepared; what was not is done now. */
  finish(): Prepared {
    this.#prepared ??= finish(this.#prepare())
    return this.#prepared
  }

  *#prepare(): Work<Prepared> {
    const tables = new Map<string, Table>()
    for (const [t, rows] of this.#rows) {
      yield* reuseRows(this.#current.table(t), rows)
      tables.set(t, yield* this.#current.tableOver(t, rows))
    }
    const views = new Map<ReplicaQuery, QueryResult>()
    // Those of now: others may come in each turn, and find their view at the swap.
    for (const query of [...this.#current.queries]) {
      const table = tables.get(query.t)
      if (table) views.set(query, yield* query.viewOver(table))
    }
    return { tables, views, unloaded: this.#unloaded, isPart: this.#isPart }
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

/** A record that says what it said before stays the same by reference. */
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
