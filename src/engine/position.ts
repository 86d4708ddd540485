import type { DataPosition } from '../mutations/data-position.ts'
import type { JournalEntry } from '../persistence/database.ts'
import { type DeltaFrame, type DeltaMessage, framesOf } from '../protocol/delta.ts'
import { asInsert, fold, type RowChange, type RowOp, rowKey } from '../protocol/fold.ts'
import { isOtherEpoch } from '../protocol/guards.ts'
import type { WireRow } from '../protocol/row.ts'
import type { Rows } from '../records/replica.ts'
import type { ResetReason } from './events.ts'

/**
 * Which changes are known to be without a hole. `confirmed` is the position up to which they are: what is stored reaches
 * that far and no further. A push without `since` is shown at once but proves nothing about what came before it, so it
 * lies over the confirmed rows until a delta from `confirmed` confirms it. Then the rows under it are put back, the delta is
 * applied in order, and what the delta does not reach is laid over again.
 */
export interface Position extends DataPosition {
  /** `lastSyncId`: the highest position that is shown, confirmed or not. */
  readonly shown: number
  /** What lies over the confirmed rows, in ascending `sid`. */
  readonly unconfirmed: readonly DeltaFrame[]
  /** The confirmed row of each record that it touches. */
  readonly confirmedRows: readonly ConfirmedRow[]
}

/** So many changes may lie over the confirmed rows; what is beyond them comes with the delta that confirms. */
const maxUnconfirmed = 1_000

interface ConfirmedRow {
  readonly t: string
  readonly id: string
  readonly row: WireRow | undefined
}

/** What follows from a message: the next state, what to show, what to store, what to do. */
export interface Outcome {
  readonly state: Position
  /** Made when they are first asked for, of the rows as they were. */
  readonly changes: () => readonly RowChange[]
  /** The `u` ops whose record is not here. */
  readonly unknown: readonly RowOp[]
  /** Proven ops of types that are not loaded. */
  readonly unloadedOps: readonly RowOp[]
  readonly entry?: JournalEntry
  /** `delta`: something is missing. `confirm`: something is unconfirmed. */
  readonly want?: 'delta' | 'confirm'
  /** The history is another one: only a bootstrap helps, and nothing was applied. */
  readonly reset?: ResetReason
}

/** After a restart, or a bootstrap. */
export function positionAt(sid: number, epoch: string | undefined): Position {
  return { confirmed: sid, shown: sid, epoch, unconfirmed: [], confirmedRows: [] }
}

/** The answer to a delta that was asked for with `since`; `rows` are those shown. Only it ever proves a reset. */
export function fetched(state: Position, delta: DeltaMessage, since: number, rows: Rows): Outcome {
  if (delta.sid < since) return { ...nothing(state), reset: 'restored' }
  if (isOtherEpoch(state, delta.epoch)) return { ...nothing(state), reset: 'epoch' }
  return prove(state, delta, rows)
}

/** A delta that came by itself. */
export function pushed(state: Position, delta: DeltaMessage, rows: Rows): Outcome {
  const { since = Number.NEGATIVE_INFINITY } = delta
  if (isOtherEpoch(state, delta.epoch) || since > state.confirmed) return { ...nothing(state), want: 'delta' }
  if (delta.since === undefined) return show(state, delta, rows)
  return delta.broken.length > 0 ? { ...nothing(state), want: 'delta' } : prove(state, delta, rows)
}

/**
 * The confirmed records of `types` are here by now, and were not before; `ops` have happened to them. Applies these, and lays
 * over them what is unconfirmed.
 */
export function joined(
  state: Position,
  types: ReadonlySet<string>,
  ops: readonly RowOp[],
  rows: Rows,
): Pick<Outcome, 'state' | 'changes' | 'unknown'> {
  const unconfirmed = state.unconfirmed.filter(({ t }) => types.has(t))
  const { changes, unknown, confirmedRows } = layOver({ ...state, confirmedRows: [] }, ops, unconfirmed, rows)
  return {
    state: { ...state, confirmedRows: [...state.confirmedRows, ...confirmedRows] },
    changes,
    unknown: confirmedOf(unknown, ops),
  }
}

/** Those of `unknown` that are confirmed; of the others, a delta has yet to tell. */
function confirmedOf(unknown: readonly RowOp[], confirmed: readonly RowOp[]): readonly RowOp[] {
  if (unknown.length === 0) return []
  const all = new Set(confirmed)
  return unknown.filter((op) => all.has(op))
}

function nothing(state: Position): Outcome {
  return { state, changes: () => [], unknown: [], unloadedOps: [] }
}

/** Takes a delta that begins at `confirmed` or before it, and so proves all up to its own `sid`. */
function prove(state: Position, delta: DeltaMessage, rows: Rows): Outcome {
  const { confirmed } = state
  const { sid, epoch = state.epoch } = delta
  // An answer that comes late: what it says has been applied.
  if (sid <= confirmed) {
    const entry = { since: confirmed, sid: confirmed, ops: [], epoch }
    return { ...nothing({ ...state, epoch }), ...(epoch === state.epoch ? undefined : { entry }) }
  }
  const rest = state.unconfirmed.filter((one) => one.sid > sid)
  // Rows tell of no removal: one that was pushed stands.
  const removals = delta.kind === 'row' ? state.unconfirmed.filter(({ op }) => op === 'd') : []
  const reached = removals.filter((one) => one.sid <= sid)
  const ops = [...reached, ...framesOf(delta, (had) => had <= confirmed)]
  const laid = layOver(state, ops, rest, rows)
  const unknown = confirmedOf(laid.unknown, ops)
  const isBroken = delta.kind === 'frame' && delta.broken.length > 0
  return {
    state: {
      confirmed: sid,
      shown: rest.at(-1)?.sid ?? sid,
      epoch,
      unconfirmed: rest,
      confirmedRows: laid.confirmedRows,
    },
    changes: laid.changes,
    unknown,
    unloadedOps: ops.filter(({ t }) => !rows.has(t)),
    entry: { since: confirmed, sid, ops, epoch, owesRepair: isBroken || unknown.length > 0 },
  }
}

/** Shows a delta that proves nothing. Until it is confirmed, only what came with that very `sid` counts as had. */
function show(state: Position, delta: DeltaMessage, rows: Rows): Outcome {
  const { confirmed, shown } = state
  const sids = new Set(state.unconfirmed.map(({ sid }) => sid))
  const had = (sid: number) => sid <= confirmed || sids.has(sid)
  const fresh = framesOf(delta, had)
  if (fresh.length === 0) {
    return {
      ...nothing(state),
      ...(delta.sid > shown || delta.broken.length > 0 ? { want: 'delta' } : undefined),
    }
  }
  const unconfirmed = [...state.unconfirmed, ...fresh].sort((a, b) => a.sid - b.sid)
  if (unconfirmed.length > maxUnconfirmed) return { ...nothing(state), want: 'delta' }
  const highest = unconfirmed.reduce((sid, one) => Math.max(sid, one.sid), shown)
  const { changes, confirmedRows } = layOver(state, [], unconfirmed, rows)
  return {
    state: { ...state, shown: highest, unconfirmed, confirmedRows },
    changes,
    unknown: [],
    unloadedOps: [],
    want: 'confirm',
  }
}

/** Puts back the confirmed rows, applies `ops` to them, and lays `unconfirmed` over the result: of the types that are here. */
function layOver(state: Position, ops: readonly RowOp[], unconfirmed: readonly DeltaFrame[], rows: Rows) {
  const putBack = state.confirmedRows.map(
    ({ t, id, row }): RowOp => (row ? asInsert(row) : { op: 'd', t, id }),
  )
  const toConfirmed = [...putBack, ...ops.filter(({ t }) => rows.has(t))]
  const over = unconfirmed.filter(({ t }) => rows.has(t))
  const { changes, unknown } = fold(rows, [...toConfirmed, ...over])
  return { changes, unknown, confirmedRows: over.length > 0 ? confirmedRowsOf(over, toConfirmed, rows) : [] }
}

function confirmedRowsOf(
  unconfirmed: readonly DeltaFrame[],
  toConfirmed: readonly RowOp[],
  rows: Rows,
): readonly ConfirmedRow[] {
  const confirmed = new Map(
    fold(rows, toConfirmed)
      .changes()
      .map((change) => [rowKey(change.t, change.id), change]),
  )
  const confirmedRows = new Map<string, ConfirmedRow>()
  for (const { t, id } of unconfirmed) {
    const key = rowKey(t, id)
    const change = confirmed.get(key)
    confirmedRows.set(key, { t, id, row: change ? change.after : rows.of(t).get(id) })
  }
  return [...confirmedRows.values()]
}
