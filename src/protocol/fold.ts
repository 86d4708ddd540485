import { isName, isPayload } from './guards.ts'
import { isObject, jsonEqual, type Payload } from './json.ts'
import type { WireRow } from './row.ts'

/** A change of one record, without its position in the history: the unit that is applied, and that a journal stores. */
export type RowOp =
  | {
      readonly op: 'i'
      readonly t: string
      readonly id: string
      readonly p: Payload
      readonly v?: number | undefined
    }
  | { readonly op: 'u'; readonly t: string; readonly id: string; readonly p: Payload }
  | { readonly op: 'd'; readonly t: string; readonly id: string }

/** Whether `value` is an op. It may have further fields. */
export function isOp(value: unknown): value is RowOp & { readonly [name: string]: unknown } {
  if (!isObject(value) || !isName(value.t) || !isName(value.id)) return false
  return value.op === 'd' || ((value.op === 'i' || value.op === 'u') && isPayload(value.p))
}

/** The rows that a fold reads. */
export interface RowSource {
  /**
   * The rows of one type, to be read before anything changes. Looking up the type for each row would double the time.
   */
  of(t: string): RowsOfType
}

export interface RowsOfType {
  get(id: string): WireRow | undefined
}

/** The change of one record. If the row or its `p` has the same content as before, it is the same object. */
export interface RowChange {
  readonly t: string
  readonly id: string
  readonly before: WireRow | undefined
  readonly after: WireRow | undefined
  /** The time of its last frame, in ms since the epoch, if the server has sent one. */
  readonly at?: number | undefined
}

export interface Folded {
  /**
   * One for each record whose content has changed. Computed at the first call, from the rows as they were: `unknown`
   * can be handled before that.
   */
  readonly changes: () => readonly RowChange[]
  /**
   * For each record, the first `u` that found no record, unless a later op inserts or removes the record: the copy and
   * the server disagree.
   */
  readonly unknown: readonly RowOp[]
}

/** Returns a row as an insert, without further fields that it may have, such as `op`. */
export function asInsert({ t, id, v, p }: WireRow): RowOp {
  return { op: 'i', t, id, v, p }
}

/** Applies `ops` to `rows` in order, and returns the result. Pure: changes neither. */
export function fold(rows: RowSource, ops: readonly Step['op'][]): Folded {
  const touched: Touched[] = []
  // Nested maps: joining type and id into one key would cost more than everything else here.
  const byType = new Map<string, { readonly rows: RowsOfType; readonly touched: Map<string, Touched> }>()
  const repeated = new Set<Touched>()
  const steps = ops.map((op) => {
    const { t, id, at } = op
    const ofType = byType.get(t) ?? { rows: rows.of(t), touched: new Map<string, Touched>() }
    if (ofType.touched.size === 0) byType.set(t, ofType)
    let change = ofType.touched.get(id)
    if (change) repeated.add(change)
    else {
      const row = ofType.rows.get(id)
      change = { t, id, before: row, after: row, at }
      ofType.touched.set(id, change)
      touched.push(change)
    }
    return { op, change }
  })
  let changes: readonly RowChange[] | undefined
  return {
    unknown: unknownOf(steps, repeated),
    changes: () => {
      changes ??= changesOf(touched, steps, repeated)
      return changes
    },
  }
}

/** See {@link Folded.unknown}. */
function unknownOf(steps: readonly Step[], repeated: ReadonlySet<Touched>): readonly RowOp[] {
  const unknown = new UnknownRecords()
  /** For records that an op has inserted or removed: whether the record exists now. */
  const isThere = new Map<Touched, boolean>()
  for (const { op, change } of steps) {
    unknown.note(op, isThere.get(change) ?? change.before !== undefined)
    if (op.op !== 'u' && repeated.has(change)) isThere.set(change, op.op === 'i')
  }
  return unknown.ops
}

/** Collects the ops of {@link Folded.unknown} from ops that come one by one. */
export class UnknownRecords {
  readonly #ops = new Map<string, RowOp>()

  get ops(): readonly RowOp[] {
    return [...this.#ops.values()]
  }

  /** Handles the next op. `isThere`: whether its record exists. */
  note(op: RowOp, isThere: boolean): void {
    if (op.op === 'u' ? isThere : this.#ops.size === 0) return
    const key = keyOf(op)
    if (op.op !== 'u') this.#ops.delete(key)
    else if (!this.#ops.has(key)) this.#ops.set(key, op)
  }
}

/** Applies the steps to `touched`, and returns the records that have changed. To be called once. */
function changesOf(
  touched: readonly Touched[],
  steps: readonly Step[],
  repeated: ReadonlySet<Touched>,
): readonly RowChange[] {
  for (const { op, change } of steps) {
    change.after = applyOp(change.after, op)
    change.at = op.at
  }
  // `applyOp` detects that a single op changes nothing. After several ops, compare the last row with the first.
  for (const change of repeated) if (change.after) change.after = reuse(change.before, change.after)
  return touched.filter(({ before, after }) => before !== after)
}

interface Step {
  readonly op: RowOp & { readonly at?: number | undefined }
  readonly change: Touched
}

type Touched = { -readonly [Key in keyof RowChange]: RowChange[Key] }

/** A unique key for each record, whatever characters its type and id have. */
export function rowKey(t: string, id: string): string {
  return `${t.length}:${t}${id}`
}

/** The key of a record, as {@link rowKey} makes it. */
export function keyOf({ t, id }: { readonly t: string; readonly id: string }): string {
  return rowKey(t, id)
}

/** `rows`, but with the rows of `now`, by their keys, in place of the same ones. */
export function over(now: ReadonlyMap<string, WireRow | undefined>, rows: RowSource): RowSource {
  const get = (t: string, id: string) => {
    const key = rowKey(t, id)
    return now.has(key) ? now.get(key) : rows.of(t).get(id)
  }
  return { of: (t) => ({ get: (id) => get(t, id) }) }
}

/**
 * Applies an op to a row. Parts with equal content stay the same objects. A `u` or a `d` without a row returns
 * `undefined`.
 */
export function applyOp(row: WireRow | undefined, op: RowOp): WireRow | undefined {
  switch (op.op) {
    case 'i':
      return reuse(row, withPayload(op, op.p))
    case 'u':
      return row && (hasFields(row.p, op.p) ? row : withPayload(row, { ...row.p, ...op.p }))
    case 'd':
      return undefined
  }
}

function hasFields(p: Payload, fields: Payload): boolean {
  for (const name in fields) if (!jsonEqual(p[name], fields[name])) return false
  return true
}

/** Returns `old` if `row` is equal; `row` with the payload of `old` if only the version differs; else `row`. */
export function reuse(old: WireRow | undefined, row: WireRow): WireRow {
  if (!old || !jsonEqual(old.p, row.p)) return row
  return old.v === row.v ? old : withPayload(row, old.p)
}

/** A literal takes half the time of a copy with spread. */
function withPayload({ t, id, v }: Pick<WireRow, 't' | 'id' | 'v'>, p: Payload): WireRow {
  return v === undefined ? { t, id, p } : { t, id, v, p }
}
