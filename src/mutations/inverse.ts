import type { OutboxRecord } from '../persistence/outbox.ts'
import type { DeltaFrame } from '../protocol/delta.ts'
import { applyOp, type RowSource, rowKey } from '../protocol/fold.ts'
import { jsonEqual, type Payload } from '../protocol/json.ts'
import type { WireRow } from '../protocol/row.ts'
import type { TxOp } from '../protocol/tx.ts'
import type { Mutator } from './draft.ts'

/** A record before and after a transaction; `undefined` if there is no such record. */
export interface Effect {
  readonly t: string
  readonly id: string
  readonly base: Payload | undefined
  readonly mine: Payload | undefined
  /** Whether `mine` is the server's result, which includes all that the server added or changed. */
  readonly isServers?: boolean
}

/** The effect of a transaction on each record that it changes. */
export function effectsOf({ before, ops }: Pick<OutboxRecord, 'before' | 'ops'>): readonly Effect[] {
  const rows = new Map(before.map(({ t, id, p }) => [rowKey(t, id), p ? { t, id, p } : undefined]))
  for (const op of ops) {
    const key = rowKey(op.t, op.id)
    rows.set(key, applyOp(rows.get(key), op))
  }
  return before.map(({ t, id, p }) => ({
    t,
    id,
    base: p ?? undefined,
    mine: rows.get(rowKey(t, id))?.p,
  }))
}

/**
 * The effect of the transaction `tx` on each record. `frames` are in ascending order and may belong to other
 * transactions, too.
 */
export function effectsIn(frames: readonly DeltaFrame[], tx: string, rows: RowSource): readonly Effect[] {
  const effects = new Map<string, Effect>()
  const current = new Map<string, WireRow | undefined>()
  const touched = new Set(frames.filter((frame) => frame.tx === tx).map(({ t, id }) => rowKey(t, id)))
  for (const frame of frames) {
    const { t, id } = frame
    const key = rowKey(t, id)
    if (!touched.has(key)) continue
    const before = current.has(key) ? current.get(key) : rows.of(t).get(id)
    const after = applyOp(before, frame)
    current.set(key, after)
    if (frame.tx !== tx) continue
    const { base } = effects.get(key) ?? { base: before?.p }
    effects.set(key, { t, id, base, mine: after?.p, isServers: true })
  }
  return [...effects.values()]
}

/** Undo and redo ask the server to reject the write if a record has changed: the client may not know the change yet. */
const options = { ifUnchanged: true }

/** Reverts `effects`, except for fields that no longer hold the written value. */
export function takeBack(effects: readonly Effect[], m: Mutator): void {
  for (const effect of [...effects].reverse()) revert(effect, m)
}

/** Applies reverted `effects` again, except to records that have changed since. */
export function doAgain(effects: readonly Effect[], m: Mutator): void {
  for (const { t, id, base, mine } of effects) revert({ t, id, base: mine, mine: base, isServers: true }, m)
}

function revert({ t, id, base, mine, isServers }: Effect, m: Mutator): void {
  const record = m.get(t, id)
  if (mine === undefined) {
    if (base && !record) m.insert(t, { ...base, id })
    return
  }
  if (!record) return
  const { id: _, ...current }: Payload = record
  const holds = (field: string) => jsonEqual(current[field], mine[field])
  if (!base) {
    const fields = Object.keys(isServers ? { ...current, ...mine } : mine)
    if (fields.every((field) => field === 'id' || holds(field))) m.delete(t, id, options)
    return
  }
  const changed = Object.keys({ ...base, ...mine }).filter(
    (field) => !jsonEqual(base[field], mine[field]) && holds(field),
  )
  const kept = Object.entries(current).filter(([field]) => !changed.includes(field))
  const restored = Object.entries(base).filter(([field]) => changed.includes(field))
  // An update cannot remove a field. If a field has to go, put the whole record.
  if (changed.some((field) => !Object.hasOwn(base, field)))
    m.put(t, { ...Object.fromEntries([...kept, ...restored]), id }, options)
  else m.update(t, id, Object.fromEntries(restored), options)
}

/** Writes the ops of a rejected transaction again, on top of the current records. */
export function tryAgain(record: Pick<OutboxRecord, 'ops' | 'before'>, m: Mutator): void {
  const effects = new Map(effectsOf(record).map((effect) => [rowKey(effect.t, effect.id), effect]))
  for (const op of record.ops) repeat(op, effects.get(rowKey(op.t, op.id))?.mine, m)
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
