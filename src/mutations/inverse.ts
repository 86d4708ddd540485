import type { OutboxRecord, RecordImage } from '../persistence/outbox.ts'
import type { DeltaFrame } from '../protocol/delta.ts'
import { applyOp, keyOf, over, type RowSource, rowKey } from '../protocol/fold.ts'
import { jsonEqual, type Payload } from '../protocol/json.ts'
import { applyTxOp, remainingOp } from '../protocol/remaining-op.ts'
import type { WireRow } from '../protocol/row.ts'
import type { TxOp } from '../protocol/tx.ts'
import type { Draft, Mutator } from './draft.ts'

/** A record before and after a transaction; `undefined` if there is no such record. */
export interface Effect {
  readonly t: string
  readonly id: string
  readonly base: Payload | undefined
  readonly mine: Payload | undefined
  /** Of a record that was added or removed: whether it is whole, with all that the server added. */
  readonly isWhole?: boolean | undefined
  /** The transaction's own ops on the record, if the server may have done more; `undefined` if it has not. */
  readonly ops?: readonly TxOp[] | undefined
}

/** The records before a transaction, by their keys. */
export function imagesIn({ before }: Pick<OutboxRecord, 'before'>) {
  return new Map(before.map(({ t, id, p }) => [rowKey(t, id), p ? { t, id, p } : undefined]))
}

/** The effect of a transaction on each record that it changes. */
export function effectsOf(record: Pick<OutboxRecord, 'before' | 'ops'>): readonly Effect[] {
  const { before, ops } = record
  const rows = imagesIn(record)
  for (const op of ops) {
    const key = keyOf(op)
    rows.set(key, applyTxOp(rows.get(key), op))
  }
  return before.map(({ t, id, p }) => ({
    t,
    id,
    base: p ?? undefined,
    mine: rows.get(rowKey(t, id))?.p,
  }))
}

/**
 * The effect of the transaction `tx`, which has sent `ops`, on each record; empty if `frames` do not show it. `frames`
 * are in ascending order and may belong to other transactions, too.
 */
export function effectsIn(
  frames: readonly DeltaFrame[],
  tx: string,
  ops: readonly TxOp[],
  rows: RowSource,
): readonly Effect[] {
  const effects = new Map<string, Effect>()
  const current = new Map<string, WireRow | undefined>()
  const touched = new Set(frames.filter((frame) => frame.tx === tx).map(keyOf))
  const ofTouched = frames.filter((frame) => touched.has(keyOf(frame)))
  const last = new Map(ofTouched.map((frame) => [keyOf(frame), frame]))
  for (const frame of ofTouched) {
    const { t, id } = frame
    const key = rowKey(t, id)
    // The server sends a removal in place of a transaction's frame that a later one replaces or removes.
    if (frame.op === 'd' && frame.tx !== undefined && frame !== last.get(key)) return []
    const before = current.has(key) ? current.get(key) : rows.of(t).get(id)
    const after = applyOp(before, frame)
    current.set(key, after)
    if (frame.tx !== tx) continue
    const { base } = effects.get(key) ?? { base: before?.p }
    const own = ops.filter((op) => keyOf(op) === key)
    effects.set(key, { t, id, base, mine: after?.p, isWhole: true, ops: own })
  }
  return [...effects.values()]
}

/**
 * The ops that take `effects` back, except what the server itself has set or added. The server applies each op only to values that the transaction wrote, and does not
 * remove a record to which somebody has added a field since.
 */
export function inverseOf(effects: readonly Effect[]): readonly TxOp[] {
  return [...effects].reverse().flatMap((effect) => inverseOp(effect) ?? [])
}

/** The effects of a transaction that takes `effects` back. */
export function reversed(effects: readonly Effect[]): readonly Effect[] {
  return [...effects].reverse().map((effect) => ({ ...effect, base: effect.mine, mine: effect.base }))
}

function inverseOp({ t, id, base, mine, isWhole, ops }: Effect): TxOp | undefined {
  if (!mine) return base && { op: 'i', t, id, p: base, was: null }
  if (!base) {
    return ops?.length === 0 ? undefined : { op: 'd', t, id, was: mine, ...(isWhole && { whole: true }) }
  }
  const isOwn = (field: string) => !ops || ops.some((op) => writes(op, field, mine))
  const changed = Object.keys({ ...base, ...mine }).filter(
    (field) => !jsonEqual(base[field], mine[field]) && isOwn(field),
  )
  if (changed.length === 0) return undefined
  const kept = changed.filter((field) => Object.hasOwn(base, field))
  const added = changed.filter((field) => !Object.hasOwn(base, field))
  const valuesIn = (p: Payload, fields: readonly string[]) =>
    Object.fromEntries(fields.map((field) => [field, p[field] ?? null]))
  return {
    op: 'u',
    t,
    id,
    p: valuesIn(base, kept),
    ...(added.length > 0 && { unset: added }),
    was: valuesIn(mine, changed),
  }
}

/** Whether `op` wrote `field` of a record, which was then `mine`. A whole record also removes the fields that it lacks. */
function writes(op: TxOp, field: string, mine: Payload): boolean {
  if (op.op === 'd') return false
  const isRemoved = op.op === 'i' ? (mine[field] ?? null) === null : op.unset?.includes(field)
  return Object.hasOwn(op.p, field) || isRemoved === true
}

/** The ops that change something in `rows`, and the records that they change, as they are in `rows`. */
export function leftOn(ops: readonly TxOp[], rows: RowSource): Draft {
  const steps = stepsOf(ops, rows).filter(({ row, after }) => row !== after)
  const images = steps.map(({ op: { t, id }, row }): RecordImage => ({ t, id, p: row?.p ?? null }))
  const before = new Map(images.reverse().map((image) => [keyOf(image), image]))
  return { ops: steps.map(({ op }) => op), before: [...before.values()] }
}

/**
 * `ops` for a server that does not know `was`: only the ops and fields that still apply to `rows`. The server is to
 * reject them if a record has changed after `since`.
 */
export function withoutWas(ops: readonly TxOp[], rows: RowSource, since: number): readonly TxOp[] {
  return stepsOf(ops, rows).flatMap(({ op, row, after }): readonly TxOp[] => {
    const left = remainingOp(op, row?.p)
    if (!left) return []
    if (left.op === 'i') return [left]
    const { t, id } = left
    // Without `unset`, only a write of the whole record removes a field.
    const put = left.op === 'u' && left.unset && after
    return [
      put
        ? { op: 'i', t, id, p: put.p, put: true, unchangedSince: since }
        : { ...left, unchangedSince: since },
    ]
  })
}

/** Each op with its record before and after it. */
function stepsOf(ops: readonly TxOp[], rows: RowSource) {
  const now = new Map<string, WireRow | undefined>()
  return ops.map((op) => {
    const row = over(now, rows).of(op.t).get(op.id)
    const after = applyTxOp(row, op)
    now.set(keyOf(op), after)
    return { op, row, after }
  })
}

/** Writes the ops of a rejected transaction again, on top of the current records. */
export function tryAgain(record: Pick<OutboxRecord, 'ops' | 'before'>, m: Mutator): void {
  const effects = new Map(effectsOf(record).map((effect) => [keyOf(effect), effect]))
  for (const op of record.ops) repeat(op, effects.get(keyOf(op))?.mine, m)
}

function repeat(op: TxOp, mine: Payload | undefined, m: Mutator): void {
  const { t, id } = op
  const options = { ifUnchanged: op.unchangedSince !== undefined }
  if (op.op === 'd') m.delete(t, id, options)
  else if (op.op === 'i' && !op.put) m.insert(t, { ...op.p, id })
  else if (op.op === 'i') m.put(t, { ...op.p, id }, options)
  else if (m.get(t, id)) m.update(t, id, op.p, options)
  // The record was deleted in the meantime: restore it with the user's change.
  else if (mine) m.put(t, { ...mine, id })
}
