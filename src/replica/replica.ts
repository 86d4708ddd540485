import type { Listener, Undo } from '../base/emitter.ts'
import type { RowChange, RowOp, RowSource } from '../protocol/fold.ts'
import type { WireRow } from '../protocol/row.ts'
import type { OverlayChange } from './overlay.ts'
import type { Cursor, QuerySpec } from './query-spec.ts'
import type { DataRecord } from './record.ts'

/**
 * The copy in memory, for reading synchronously. What a reader gets is immutable, and the same by reference until
 * it changes.
 */
export interface Replica {
  get(t: string, id: string): DataRecord | undefined
  getMany(t: string, ids: readonly string[]): readonly (DataRecord | undefined)[]
  /** All records of a type, in no promised order. */
  all(t: string): readonly DataRecord[]
  count(t: string, where?: QuerySpec['where']): number
  /** The row as the server last said. */
  confirmed(t: string, id: string): WireRow | undefined
  /** The row below the pending transaction `tx`: as the server last said, with the pending transactions before it on top. */
  below(tx: string, t: string, id: string): WireRow | undefined
  /** The rows of a type as the server last said, in no promised order; they stay iterable while rows change. */
  confirmedAll(t: string): Iterable<WireRow>
  query(t: string, spec: QuerySpec): LiveQuery

  /** The confirmed rows, for a fold. */
  readonly rows: Rows
  /** The rows as they are shown, pending transactions included. */
  readonly shown: RowSource
  /**
   * Takes over what a fold gave, and which transactions are laid over it, in one step. Live queries that it touches tell
   * once.
   */
  apply(changes: readonly RowChange[], overlay?: OverlayChange): void
  /** Begins a second copy beside this one, to be filled and then put in its place; without the types `unloaded`. */
  stage(unloaded?: ReadonlySet<string>): Staging
  /**
   * Puts a prepared copy in place of this one, with the transactions on top that are still pending, all but `lift`, in one
   * step. Live queries tell once, if their result is another. Of a part, they stay `pending`.
   */
  swap(staging: Staging, lift?: Iterable<string>): void
  /**
   * Puts a prepared copy that holds `types` alone, which were not loaded, beside what is here, and applies what `rest` then
   * gives, in one step. Live queries of them become `ready`.
   */
  join(staging: Staging, types: ReadonlySet<string>, rest: () => readonly RowChange[]): void
  /** Whether there is data to show, after the first `swap` of all of it, and the records of `t` are here. Until then queries are `pending`. */
  isReady(t?: string): boolean
}

/** The confirmed rows of the types that are here. */
export interface Rows extends RowSource {
  /** Whether records of `t` are here, if there are any; those that stay on disk until they are first used read as empty. */
  has(t: string): boolean
}

/** A copy that nobody reads yet. */
export interface Staging {
  readonly rows: RowSource
  /** The types that it has no place for: what is added of them is dropped. */
  readonly unloaded: ReadonlySet<string>
  /** Has a place for `types`, too, from now on. */
  include(types: Iterable<string>): void
  add(rows: readonly WireRow[]): void
  apply(ops: readonly RowOp[]): void
  /** Of what was applied, the first `u` of each record that is not here, nor made or removed behind it. */
  readonly unknown: readonly RowOp[]
  /** What it holds so far, prepared to be swapped in while the rest comes. Nothing may be added before that resolves. */
  part(): Promise<Staging>
  /** Does the long work of the swap beforehand, in short turns. Nothing may be added after it. */
  prepare(): Promise<void>
}

/** A query and its result. The result is kept up only while somebody is subscribed, else computed when asked for. */
export interface LiveQuery<R = DataRecord> {
  /** The same array until the result changes. It is made when it is read. */
  readonly rows: readonly R[]
  /** How many rows the result has; asking for it makes none. */
  readonly length: number
  /**
   * The rows from place `from` to place `to`, the latter not included: what a list shows of a long result. It costs by
   * what it gives, whatever the length.
   */
  slice(from: number, to: number): readonly R[]
  /** `pending` until there is data; the rows are then what has come of it, if anything is shown before the rest. */
  readonly status: 'pending' | 'ready'
  /** Where the result ends, for the `after` of the next page; `undefined` where it is empty. */
  readonly cursor: Cursor | undefined
  /** Calls `listener` after each change of `rows` or `status`. */
  subscribe(listener: Listener<LiveQuery<R>>): Undo
}
