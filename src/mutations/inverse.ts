import type { OutboxRecord } from '../persistence/outbox.ts'
import type { DeltaFrame } from '../protocol/delta.ts'
import { applyOp, type RowSource, rowKey } from '../protocol/fold.ts'
import { jsonEqual, type Payload } from '../protocol/json.ts'
import type { WireRow } from '../protocol/row.ts'
import type { TxOp } from '../protocol/tx.ts'
import type { Mutator } from './draft.ts'

/** A record before a transaction, and as the transaction makes it; `undefined` where it is not there. */
export interface Effect {
  readonly t: string
  readonly id: string
  readonly base: Payload | undefined
  readonly mine: Payload | undefined
  /** Whether `mine` is the record as the server has made it, with all that the server has added or changed. */
  readonly isServers?: boolean
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

/** What the frames of the transaction `tx` did to each record, among other `frames`, which are in order. */
export function effectsIn(frames: readonly DeltaFrame[], tx: string, rows: RowSource): readonly Effect[] {
  const effects = new Map<string, Effect>()
  const now = new Map<string, WireRow | undefined>()
  const touched = new Set(frames.filter((frame) => frame.tx === tx).map(({ t, id }) => rowKey(t, id)))
  for (const frame of frames) {
    const { t, id } = frame
    const key = rowKey(t, id)
    if (!touched.has(key)) continue
    const before = now.has(key) ? now.get(key) : rows.of(t).get(id)
    const after = applyOp(before, frame)
    now.set(key, after)
    if (frame.tx !== tx) continue
    const { base } = effects.get(key) ?? { base: before?.p }
    effects.set(key, { t, id, base, mine: after?.p, isServers: true })
  }
  return [...effects.values()]
}

/** Asked of the server by an undo or a redo: what is not known here yet is not taken back either. */
const options = { ifUnchanged: true }

/** Writes what takes `effects` back, as far as what they wrote is still there. */
export function takeBack(effects: readonly Effect[], m: Mutator): void {
  for (const effect of [...effects].reverse()) takeBackOne(effect, m)
}

/** Writes what does `effects` again that were taken back, as far as nobody has changed the records since. */
export function doAgain(effects: readonly Effect[], m: Mutator): void {
  for (const { t, id, base, mine } of effects)
    takeBackOne({ t, id, base: mine, mine: base, isServers: true }, m)
}

function takeBackOne({ t, id, base, mine, isServers }: Effect, m: Mutator): void {
  const record = m.get(t, id)
  if (mine === undefined) {
    if (base && !record) m.insert(t, { ...base, id })
    return
  }
  if (!record) return
  const { id: _, ...now }: Payload = record
  const holds = (field: string) => jsonEqual(now[field], mine[field])
  if (!base) {
    const fields = Object.keys(isServers ? { ...now, ...mine } : mine)
    if (fields.every((field) => field === 'id' || holds(field))) m.delete(t, id, options)
    return
  }
  const changed = Object.keys({ ...base, ...mine }).filter(
    (field) => !jsonEqual(base[field], mine[field]) && holds(field),
  )
  const kept = Object.entries(now).filter(([field]) => !changed.includes(field))
  const restored = Object.entries(base).filter(([field]) => changed.includes(field))
  // No update can remove a field: where one is to go, the record is put whole.
  if (changed.some((field) => !Object.hasOwn(base, field)))
    m.put(t, { ...Object.fromEntries([...kept, ...restored]), id }, options)
  else m.update(t, id, Object.fromEntries(restored), options)
}

/** Writes what a rejected transaction did once more, on top of what is there now. */
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
  // Somebody deleted it meanwhile: it comes back as it was here.
  else if (mine) m.put(t, { ...mine, id })
}
