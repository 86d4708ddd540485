import type { DataPosition } from '../mutations/data-position.ts'
import type { JournalEntry } from '../persistence/stored-data.ts'
import { type DeltaFrame, type DeltaMessage, framesOf } from '../protocol/delta.ts'
import {
  asInsert,
  fold,
  keyOf,
  over,
  type RowChange,
  type RowOp,
  type RowSource,
  rowKey,
} from '../protocol/fold.ts'
import { isOtherEpoch } from '../protocol/guards.ts'
import type { WireRow } from '../protocol/row.ts'
import type { Rows } from '../records/replica.ts'
import type { ResetReason } from './events.ts'

/**
 * The position of the local copy. Up to `confirmed`, no change is missing. The stored position is never above
 * `confirmed`.
 *
 * A push without `since` is shown at once, but changes before it may be missing. It is unconfirmed, and is applied on
 * top of the confirmed rows until a delta from `confirmed` reaches it. Then the confirmed rows are restored, the delta
 * is applied in order, and the pushes above the end of the delta are applied on top again.
 */
export interface Position extends DataPosition {
  /** The highest position that is shown, confirmed or not: the client's `lastSyncId`. */
  readonly shown: number
  /** The pushed frames on top of the confirmed rows, in ascending `sid`. */
  readonly unconfirmed: readonly DeltaFrame[]
  /** The confirmed row of each record that `unconfirmed` changes. */
  readonly confirmedRows: readonly ConfirmedRow[]
}

/** The maximum number of unconfirmed frames. Further pushes are dropped, and fetched with the next delta. */
const maxUnconfirmed = 1_000

interface ConfirmedRow {
  readonly t: string
  readonly id: string
  readonly row: WireRow | undefined
}

/** The consequences of a message: the next state, the changes to show, the entry to store, and the next fetch. */
export interface Outcome {
  readonly state: Position
  /** The changes to show. The first call computes them: call before the rows change. */
  readonly changes: () => readonly RowChange[]
  /** The `u` ops whose record is not in the local copy. */
  readonly unknown: readonly RowOp[]
  /** The confirmed ops of types that are not loaded. */
  readonly unloadedOps: readonly RowOp[]
  readonly entry?: JournalEntry & { readonly ops: readonly DeltaFrame[] }
  /** The fetch that is needed. `delta`: changes are missing. `confirm`: pushes are unconfirmed. */
  readonly want?: 'delta' | 'confirm'
  /** The server has another history. Nothing was applied, and only a bootstrap helps. */
  readonly reset?: ResetReason
}

/** The position after a restart or a bootstrap. */
export function positionAt(sid: number, epoch: string | undefined): Position {
  return { confirmed: sid, shown: sid, epoch, unconfirmed: [], confirmedRows: [] }
}

/**
 * Applies the response to a delta request with `since`. `rows`: the rows without pending transactions. Only such a
 * response can ask for a reset.
 */
export function fetched(state: Position, delta: DeltaMessage, since: number, rows: Rows): Outcome {
  if (delta.sid < since) return { ...nothing(state), reset: 'restored' }
  if (isOtherEpoch(state, delta.epoch)) return { ...nothing(state), reset: 'epoch' }
  return prove(state, delta, rows)
}

/** Applies a pushed delta. `rows`: the rows without pending transactions. */
export function pushed(state: Position, delta: DeltaMessage, rows: Rows): Outcome {
  const { since = Number.NEGATIVE_INFINITY } = delta
  if (isOtherEpoch(state, delta.epoch) || since > state.confirmed) return { ...nothing(state), want: 'delta' }
  if (delta.since === undefined) return show(state, delta, rows)
  return delta.broken.length > 0 ? { ...nothing(state), want: 'delta' } : prove(state, delta, rows)
}

/** Applies `frames`, which change what the data at the confirmed position is. */
export function amended(state: Position, frames: readonly DeltaFrame[], rows: Rows) {
  const { confirmed, epoch } = state
  const { changes, confirmedRows } = rebase(state, frames, state.unconfirmed, rows)
  const entry: JournalEntry = { since: confirmed, sid: confirmed, ops: frames, epoch }
  return { state: { ...state, confirmedRows }, changes, entry }
}

/** Applies `ops`, and the unconfirmed frames on top, to the confirmed records of `types`, which were just loaded. */
export function joined(
  state: Position,
  types: ReadonlySet<string>,
  ops: readonly RowOp[],
  rows: Rows,
): Pick<Outcome, 'state' | 'changes' | 'unknown'> {
  const unconfirmed = state.unconfirmed.filter(({ t }) => types.has(t))
  const { changes, unknown, confirmedRows } = rebase({ ...state, confirmedRows: [] }, ops, unconfirmed, rows)
  return {
    state: { ...state, confirmedRows: [...state.confirmedRows, ...confirmedRows] },
    changes,
    unknown: confirmedOf(unknown, ops),
  }
}

/** The ops of `unknown` that are in `confirmed`. Unconfirmed updates are not reported before a delta confirms them. */
function confirmedOf(unknown: readonly RowOp[], confirmed: readonly RowOp[]): readonly RowOp[] {
  if (unknown.length === 0) return []
  const all = new Set(confirmed)
  return unknown.filter((op) => all.has(op))
}

/** The rows up to `confirmed`. `rows`: the rows without pending transactions. */
export function confirmedRowsIn({ confirmedRows }: Position, rows: Rows): RowSource {
  if (confirmedRows.length === 0) return rows
  return over(new Map(confirmedRows.map((confirmed) => [keyOf(confirmed), confirmed.row])), rows)
}

/** `ops` of a delta up to `sid`, with the pushed frames that it leaves out because later ones replace them. */
export function withPushed({ unconfirmed }: Position, ops: readonly DeltaFrame[], sid: number) {
  const isLeftOut = (frame: DeltaFrame) =>
    frame.sid <= sid && !ops.some((op) => op.sid === frame.sid && keyOf(op) === keyOf(frame))
  return [...unconfirmed.filter(isLeftOut), ...ops].sort((a, b) => a.sid - b.sid)
}

function nothing(state: Position): Outcome {
  return { state, changes: () => [], unknown: [], unloadedOps: [] }
}

/** Applies a delta that begins at or before `confirmed`. The delta confirms all changes up to its `sid`. */
function prove(state: Position, delta: DeltaMessage, rows: Rows): Outcome {
  const { confirmed } = state
  const { sid, epoch = state.epoch } = delta
  // The response is late: its changes are applied already.
  if (sid <= confirmed) {
    const entry = { since: confirmed, sid: confirmed, ops: [], epoch }
    return { ...nothing({ ...state, epoch }), ...(epoch === state.epoch ? undefined : { entry }) }
  }
  const rest = state.unconfirmed.filter((frame) => frame.sid > sid)
  // A delta of whole rows contains no removals: keep the pushed ones.
  const removals = delta.kind === 'row' ? state.unconfirmed.filter(({ op }) => op === 'd') : []
  const reached = removals.filter((frame) => frame.sid <= sid)
  const ops = [...reached, ...framesOf(delta, (had) => had <= confirmed)]
  const rebased = rebase(state, ops, rest, rows)
  const unknown = confirmedOf(rebased.unknown, ops)
  const isBroken = delta.kind === 'frame' && delta.broken.length > 0
  return {
    state: {
      confirmed: sid,
      shown: rest.at(-1)?.sid ?? sid,
      epoch,
      unconfirmed: rest,
      confirmedRows: rebased.confirmedRows,
    },
    changes: rebased.changes,
    unknown,
    unloadedOps: ops.filter(({ t }) => !rows.has(t)),
    entry: { since: confirmed, sid, ops, epoch, owesRepair: isBroken || unknown.length > 0 },
  }
}

/**
 * Shows a pushed delta without confirming it. A frame counts as applied only if its `sid` is at most `confirmed` or
 * equals the `sid` of an unconfirmed frame.
 */
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
  const highest = unconfirmed.reduce((sid, frame) => Math.max(sid, frame.sid), shown)
  const { changes, confirmedRows } = rebase(state, [], unconfirmed, rows)
  return {
    state: { ...state, shown: highest, unconfirmed, confirmedRows },
    changes,
    unknown: [],
    unloadedOps: [],
    want: 'confirm',
  }
}

/**
 * Restores the confirmed rows, applies `ops` to them, and applies `unconfirmed` on top. Ignores types that are not
 * loaded.
 */
function rebase(state: Position, ops: readonly RowOp[], unconfirmed: readonly DeltaFrame[], rows: Rows) {
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
      .map((change) => [keyOf(change), change]),
  )
  const confirmedRows = new Map<string, ConfirmedRow>()
  for (const { t, id } of unconfirmed) {
    const key = rowKey(t, id)
    const change = confirmed.get(key)
    confirmedRows.set(key, { t, id, row: change ? change.after : rows.of(t).get(id) })
  }
  return [...confirmedRows.values()]
}
