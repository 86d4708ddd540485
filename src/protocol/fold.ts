import { isName, isPayload } from './guards.ts'
import { isObject, jsonEqual, type Payload } from './json.ts'
import type { WireRow } from './row.ts'

/** A change to one record, without its place in the history: what is applied, and what a journal keeps. */
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

/** Whether `value` is an op, whatever else it carries. */
export function isOp(value: unknown): value is RowOp & { readonly [name: string]: unknown } {
  if (!isObject(value) || !isName(value.t) || !isName(value.id)) return false
  return value.op === 'd' || ((value.op === 'i' || value.op === 'u') && isPayload(value.p))
}

/** Rows, as a fold reads them. */
export interface RowSource {
  /** Those of one type, to be read before anything changes. To look for the type of each row would take as long as the row. */
  of(t: string): RowsOfType
}

export interface RowsOfType {
  get(id: string): WireRow | undefined
}

/** What became of one record. What says the same before and after, the row or its `p`, is the same by reference. */
export interface RowChange {
  readonly t: string
  readonly id: string
  readonly before: WireRow | undefined
  readonly after: WireRow | undefined
  /** When the last frame about it was made, in ms since the epoch, where the server said so. */
  readonly at?: number | undefined
}

export interface Folded {
  /**
   * One for each record that is now another; what says the same as before is not listed. They are made when they are first
   * asked for, of the rows as they were: what is unknown can be told, and acted on, before that.
   */
  readonly changes: () => readonly RowChange[]
  /** The first `u` of each record that is not there, nor made or removed behind it: the copy and the server disagree. */
  readonly unknown: readonly RowOp[]
}

/** A row as an op; what else it carries, an `op` for example, means nothing. */
export function asInsert({ t, id, v, p }: WireRow): RowOp {
  return { op: 'i', t, id, v, p }
}

/** What `ops`, applied in order, make of `rows`. Pure: it reads `rows` and changes nothing. */
export function fold(rows: RowSource, ops: readonly Step['op'][]): Folded {
  const touched: Touched[] = []
  // By type and id apart: to join them into one key costs more than all else that is done with it.
  const byType = new Map<string, { readonly rows: RowsOfType; readonly touched: Map<string, Touched> }>()
  const again = new Set<Touched>()
  const steps = ops.map((op) => {
    const { t, id, at } = op
    const ofType = byType.get(t) ?? { rows: rows.of(t), touched: new Map<string, Touched>() }
    if (ofType.touched.size === 0) byType.set(t, ofType)
    let change = ofType.touched.get(id)
    if (change) again.add(change)
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
    unknown: unknownOf(steps, again),
    changes: () => {
      changes ??= changesOf(touched, steps, again)
      return changes
    },
  }
}

/** The first `u` of each record that is not there, nor made or removed behind it. */
function unknownOf(steps: readonly Step[], again: ReadonlySet<Touched>): readonly RowOp[] {
  const unknown = new Map<Touched, RowOp>()
  /** Whether a record is there by now, of those that were made or removed. */
  const isThere = new Map<Touched, boolean>()
  for (const { op, change } of steps) {
    if (op.op !== 'u') {
      unknown.delete(change)
      if (again.has(change)) isThere.set(change, op.op === 'i')
    } else if (!(isThere.get(change) ?? change.before) && !unknown.has(change)) unknown.set(change, op)
  }
  return [...unknown.values()]
}

/** Keeps, of ops that come one by one, the first `u` of each record that is not there, nor made or removed behind it. */
export class UnknownRecords {
  readonly #ops = new Map<string, RowOp>()

  get ops(): readonly RowOp[] {
    return [...this.#ops.values()]
  }

  /** `op` comes, and its record is there or not. */
  note(op: RowOp, isThere: boolean): void {
    if (op.op === 'u' ? isThere : this.#ops.size === 0) return
    const key = rowKey(op.t, op.id)
    if (op.op !== 'u') this.#ops.delete(key)
    else if (!this.#ops.has(key)) this.#ops.set(key, op)
  }
}

/** Takes over into `touched` what the steps make of it. To be called once. */
function changesOf(
  touched: readonly Touched[],
  steps: readonly Step[],
  again: ReadonlySet<Touched>,
): readonly RowChange[] {
  for (const { op, change } of steps) {
    change.after = applyOp(change.after, op)
    change.at = op.at
  }
  // An op alone knows whether it changed anything; of several, only the last row tells.
  for (const change of again) if (change.after) change.after = reuse(change.before, change.after)
  return touched.filter(({ before, after }) => before !== after)
}

interface Step {
  readonly op: RowOp & { readonly at?: number | undefined }
  readonly change: Touched
}

type Touched = { -readonly [Key in keyof RowChange]: RowChange[Key] }

/** A key of its own for each record, whatever its type and id hold. */
export function rowKey(t: string, id: string): string {
  return `${t.length}:${t}${id}`
}

/** What one op makes of a row; as much as says the same stays the same. A `u` or a `d` without a row makes nothing. */
export function applyOp(row: WireRow | undefined, op: RowOp): WireRow | undefined {
  switch (op.op) {
    case 'i':
      return reuse(row, withPayload(op, op.p))
    case 'u':
      return row && (says(row.p, op.p) ? row : withPayload(row, { ...row.p, ...op.p }))
    case 'd':
      return undefined
  }
}

function says(p: Payload, fields: Payload): boolean {
  for (const name in fields) if (!jsonEqual(p[name], fields[name])) return false
  return true
}

/** `row`, or as much of `old` as says the same. */
export function reuse(old: WireRow | undefined, row: WireRow): WireRow {
  if (!old || !jsonEqual(old.p, row.p)) return row
  return old.v === row.v ? old : withPayload(row, old.p)
}

/** A literal takes half the time of a copy. */
function withPayload({ t, id, v }: Pick<WireRow, 't' | 'id' | 'v'>, p: Payload): WireRow {
  return v === undefined ? { t, id, p } : { t, id, v, p }
}
