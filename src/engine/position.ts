import type { DataPosition } from '../mutations/data-position.ts'
import type { JournalEntry } from '../persistence/database.ts'
import { type DeltaFrame, type DeltaMessage, framesOf } from '../protocol/delta.ts'
import { asInsert, fold, type RowChange, type RowOp, rowKey } from '../protocol/fold.ts'
import { isOtherEpoch } from '../protocol/guards.ts'
import type { WireRow } from '../protocol/row.ts'
import type { Rows } from '../records/replica.ts'
import type { ResetReason } from './events.ts'

/**
 * Which changes are known to be without a hole. `proven` is the position up to which they are: what is stored reaches
 * that far and no further. A push without `since` is shown at once but proves nothing about what came before it, so it
 * lies over the proven rows until a delta from `proven` confirms it. Then the rows under it are put back, the delta is
 * applied in order, and what the delta does not reach is laid over again.
 */
export interface Continuity extends DataPosition {
  /** `lastSyncId`: the highest position that is shown, proven or not. */
  readonly shown: number
  /** What lies over the proven rows, in ascending `sid`. */
  readonly unproven: readonly DeltaFrame[]
  /** The proven row of each record that it touches. */
  readonly under: readonly UnderRow[]
}

/** So many changes may lie over the proven rows; what is beyond them comes with the delta that confirms. */
const mostUnproven = 1_000

interface UnderRow {
  readonly t: string
  readonly id: string
  readonly row: WireRow | undefined
}

/** What follows from a message: the next state, what to show, what to store, what to do. */
export interface Outcome {
  readonly state: Continuity
  /** Made when they are first asked for, of the rows as they were. */
  readonly changes: () => readonly RowChange[]
  /** The `u` ops whose record is not here. */
  readonly unknown: readonly RowOp[]
  /** Proven ops of types that are not loaded. */
  readonly unloadedOps: readonly RowOp[]
  readonly entry?: JournalEntry
  /** `delta`: something is missing. `confirm`: something is unproven. */
  readonly want?: 'delta' | 'confirm'
  /** The history is another one: only a bootstrap helps, and nothing was applied. */
  readonly reset?: ResetReason
}

/** After a restart, or a bootstrap. */
export function continuityAt(sid: number, epoch: string | undefined): Continuity {
  return { proven: sid, shown: sid, epoch, unproven: [], under: [] }
}

/** The answer to a delta that was asked for with `since`; `rows` are those shown. Only it ever proves a reset. */
export function fetched(state: Continuity, delta: DeltaMessage, since: number, rows: Rows): Outcome {
  if (delta.sid < since) return { ...nothing(state), reset: 'restored' }
  if (isOtherEpoch(state, delta.epoch)) return { ...nothing(state), reset: 'epoch' }
  return prove(state, delta, rows)
}

/** A delta that came by itself. */
export function pushed(state: Continuity, delta: DeltaMessage, rows: Rows): Outcome {
  const { since = Number.NEGATIVE_INFINITY } = delta
  if (isOtherEpoch(state, delta.epoch) || since > state.proven) return { ...nothing(state), want: 'delta' }
  if (delta.since === undefined) return show(state, delta, rows)
  return delta.broken.length > 0 ? { ...nothing(state), want: 'delta' } : prove(state, delta, rows)
}

/**
 * The proven records of `types` are here by now, and were not before; `ops` have happened to them. Applies these, and lays
 * over them what is unproven.
 */
export function joined(
  state: Continuity,
  types: ReadonlySet<string>,
  ops: readonly RowOp[],
  rows: Rows,
): Pick<Outcome, 'state' | 'changes' | 'unknown'> {
  const unproven = state.unproven.filter(({ t }) => types.has(t))
  const { changes, unknown, under } = layOver({ ...state, under: [] }, ops, unproven, rows)
  return { state: { ...state, under: [...state.under, ...under] }, changes, unknown: provenOf(unknown, ops) }
}

/** Those of `unknown` that are proven; of the others, a delta has yet to tell. */
function provenOf(unknown: readonly RowOp[], proven: readonly RowOp[]): readonly RowOp[] {
  if (unknown.length === 0) return []
  const all = new Set(proven)
  return unknown.filter((op) => all.has(op))
}

function nothing(state: Continuity): Outcome {
  return { state, changes: () => [], unknown: [], unloadedOps: [] }
}

/** Takes a delta that begins at `proven` or before it, and so proves all up to its own `sid`. */
function prove(state: Continuity, delta: DeltaMessage, rows: Rows): Outcome {
  const { proven } = state
  const { sid, epoch = state.epoch } = delta
  // An answer that comes late: what it says has been applied.
  if (sid <= proven) {
    const entry = { since: proven, sid: proven, ops: [], epoch }
    return { ...nothing({ ...state, epoch }), ...(epoch === state.epoch ? undefined : { entry }) }
  }
  const rest = state.unproven.filter((one) => one.sid > sid)
  // Rows tell of no removal: one that was pushed stands.
  const removals = delta.kind === 'row' ? state.unproven.filter(({ op }) => op === 'd') : []
  const reached = removals.filter((one) => one.sid <= sid)
  const ops = [...reached, ...framesOf(delta, (had) => had <= proven)]
  const laid = layOver(state, ops, rest, rows)
  const unknown = provenOf(laid.unknown, ops)
  const isBroken = delta.kind === 'frame' && delta.broken.length > 0
  return {
    state: { proven: sid, shown: rest.at(-1)?.sid ?? sid, epoch, unproven: rest, under: laid.under },
    changes: laid.changes,
    unknown,
    unloadedOps: ops.filter(({ t }) => !rows.has(t)),
    entry: { since: proven, sid, ops, epoch, owesRepair: isBroken || unknown.length > 0 },
  }
}

/** Shows a delta that proves nothing. Until it is confirmed, only what came with that very `sid` counts as had. */
function show(state: Continuity, delta: DeltaMessage, rows: Rows): Outcome {
  const { proven, shown } = state
  const sids = new Set(state.unproven.map(({ sid }) => sid))
  const had = (sid: number) => sid <= proven || sids.has(sid)
  const fresh = framesOf(delta, had)
  if (fresh.length === 0) {
    return {
      ...nothing(state),
      ...(delta.sid > shown || delta.broken.length > 0 ? { want: 'delta' } : undefined),
    }
  }
  const unproven = [...state.unproven, ...fresh].sort((a, b) => a.sid - b.sid)
  if (unproven.length > mostUnproven) return { ...nothing(state), want: 'delta' }
  const highest = unproven.reduce((sid, one) => Math.max(sid, one.sid), shown)
  const { changes, under } = layOver(state, [], unproven, rows)
  return {
    state: { ...state, shown: highest, unproven, under },
    changes,
    unknown: [],
    unloadedOps: [],
    want: 'confirm',
  }
}

/** Puts back the proven rows, applies `ops` to them, and lays `unproven` over the result: of the types that are here. */
function layOver(state: Continuity, ops: readonly RowOp[], unproven: readonly DeltaFrame[], rows: Rows) {
  const putBack = state.under.map(({ t, id, row }): RowOp => (row ? asInsert(row) : { op: 'd', t, id }))
  const toProven = [...putBack, ...ops.filter(({ t }) => rows.has(t))]
  const over = unproven.filter(({ t }) => rows.has(t))
  const { changes, unknown } = fold(rows, [...toProven, ...over])
  return { changes, unknown, under: over.length > 0 ? rowsUnder(over, toProven, rows) : [] }
}

function rowsUnder(
  unproven: readonly DeltaFrame[],
  toProven: readonly RowOp[],
  rows: Rows,
): readonly UnderRow[] {
  const proven = new Map(
    fold(rows, toProven)
      .changes()
      .map((change) => [rowKey(change.t, change.id), change]),
  )
  const under = new Map<string, UnderRow>()
  for (const { t, id } of unproven) {
    const key = rowKey(t, id)
    const change = proven.get(key)
    under.set(key, { t, id, row: change ? change.after : rows.of(t).get(id) })
  }
  return [...under.values()]
}
