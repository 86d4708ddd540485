import type { OutboxRecord } from '../database/outbox.ts'
import { applyOp, rowKey } from '../protocol/fold.ts'
import { jsonEqual, type Payload } from '../protocol/json.ts'
import type { TxOp } from '../protocol/tx.ts'
import type { Mutator } from './draft.ts'

/** A record before a transaction, and as the transaction makes it; `undefined` where it is not there. */
export interface Effect {
  readonly t: string
  readonly id: string
  readonly base: Payload | undefined
  readonly mine: Payload | undefined
}

/** What a transaction does to each record that it touches. */
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

/** Writes what takes `effects` back, as far as what they wrote is still there. */
export function takeBack(effects: readonly Effect[], m: Mutator): void {
  for (const effect of [...effects].reverse()) takeBackOne(effect, m)
}

function takeBackOne({ t, id, base, mine }: Effect, m: Mutator): void {
  const now = m.get(t, id)
  if (mine === undefined) {
    if (base && !now) m.insert(t, { ...base, id })
    return
  }
  if (!now) return
  const holds = (field: string) => jsonEqual(now[field], mine[field])
  if (!base) {
    if (Object.keys(mine).every(holds)) m.delete(t, id)
    return
  }
  const changed = Object.keys({ ...base, ...mine }).filter(
    (field) => !jsonEqual(base[field], mine[field]) && holds(field),
  )
  const kept = Object.entries(now).filter(([field]) => !changed.includes(field))
  const restored = Object.entries(base).filter(([field]) => changed.includes(field))
  // No update can remove a field: where one is to go, the record is put whole.
  if (changed.some((field) => !Object.hasOwn(base, field)))
    m.put(t, { ...Object.fromEntries([...kept, ...restored]), id })
  else m.update(t, id, Object.fromEntries(restored))
}

/** Writes what a rejected transaction did once more, on top of what is there now. */
export function tryAgain(record: Pick<OutboxRecord, 'ops' | 'before'>, m: Mutator): void {
  const effects = new Map(effectsOf(record).map((effect) => [rowKey(effect.t, effect.id), effect]))
  for (const op of record.ops) repeat(op, effects.get(rowKey(op.t, op.id))?.mine, m)
}

function repeat(op: TxOp, mine: Payload | undefined, m: Mutator): void {
  const { t, id } = op
  const options = { unchanged: op.unchangedSince !== undefined }
  if (op.op === 'd') m.delete(t, id, options)
  else if (op.op === 'i' && !op.put) m.insert(t, { ...op.p, id })
  else if (op.op === 'i') m.put(t, { ...op.p, id }, options)
  else if (m.get(t, id)) m.update(t, id, op.p, options)
  // Somebody deleted it meanwhile: it comes back as it was here.
  else if (mine) m.put(t, { ...mine, id })
}
