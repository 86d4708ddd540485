import { applyOp } from './fold.ts'
import { jsonEqual, type Payload } from './json.ts'
import type { WireRow } from './row.ts'
import type { TxOp } from './tx.ts'

/**
 * Returns what remains of `op` for a record with the fields `p`, or for none: an op without `was`, or `undefined` if
 * nothing remains. A field in `was` that the record does not have has the value `null`. An op without `was` stays as it
 * is.
 */
export function remainingOp(op: TxOp, p: Payload | undefined): TxOp | undefined {
  if (op.was === undefined) return op
  if (op.op === 'i') {
    const { was: _, ...left } = op
    return p ? undefined : left
  }
  if (!p) return undefined
  const { was } = op
  if (op.op === 'd') {
    const { was: _, whole, ...left } = op
    const fields = Object.keys(whole ? { ...p, ...was } : was)
    return fields.every((field) => jsonEqual(heldIn(p, field), heldIn(was, field))) ? left : undefined
  }
  const holds = (field: string) => !Object.hasOwn(was, field) || jsonEqual(heldIn(p, field), was[field])
  const { was: _, unset = [], ...rest } = op
  const fields = Object.fromEntries(Object.entries(op.p).filter(([field]) => holds(field)))
  const removed = unset.filter((field) => Object.hasOwn(p, field) && holds(field))
  if (removed.length > 0) return { ...rest, p: fields, unset: removed }
  return Object.keys(fields).length > 0 ? { ...rest, p: fields } : undefined
}

function heldIn(p: Payload, field: string): Payload[string] {
  return (Object.hasOwn(p, field) ? p[field] : undefined) ?? null
}

/**
 * Applies an op of a transaction as the server does. Returns `row` itself if that changes nothing. An insert without
 * `put` leaves a record that exists as it is.
 */
export function applyTxOp(row: WireRow | undefined, op: TxOp): WireRow | undefined {
  const left = remainingOp(op, row?.p)
  if (!left || (left.op === 'i' && row && !left.put)) return row
  const after = applyOp(row, left)
  if (!after || left.op !== 'u' || !left.unset?.some((field) => Object.hasOwn(after.p, field))) return after
  const p = { ...after.p }
  for (const field of left.unset) delete p[field]
  return { ...after, p }
}
