import type { JournalEntry, Page } from '../../src/persistence/stored-data.ts'
import { applyOp, type RowOp, rowKey } from '../../src/protocol/fold.ts'
import type { WireRow } from '../../src/protocol/row.ts'
import type { Database } from './database.ts'

/** What a database holds: a naive oracle of it, and what a restart finds. */
export interface State {
  readonly sid: number
  readonly epoch: string | undefined
  readonly rows: ReadonlyMap<string, WireRow>
}

export function snapshotOf(sid: number, rows: readonly WireRow[], epoch?: string): State {
  return { sid, epoch, rows: new Map(rows.map((row) => [rowKey(row.t, row.id), row])) }
}

export function appended(state: State, { sid, ops, epoch = state.epoch }: JournalEntry): State {
  const rows = new Map(state.rows)
  applyAll(rows, ops)
  return { sid, epoch, rows }
}

/** What a restart finds; `undefined` where nothing is stored. */
export async function restoreState(database: Database): Promise<State | undefined> {
  const rows = new Map<string, WireRow>()
  const restored = await database.restore({
    rows: (page) => {
      for (const row of page) rows.set(rowKey(row.t, row.id), row)
    },
    ops: (ops) => applyAll(rows, ops),
  })
  return restored && { sid: restored.sid, epoch: restored.epoch, rows }
}

/** A state as plain data, for comparing: in the order of the records. */
export function plain(state: State | undefined) {
  if (!state) return undefined
  const rows = [...state.rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
  return { sid: state.sid, epoch: state.epoch, rows }
}

export function pageOf(rows: readonly WireRow[]): Page {
  const types = new Map<string, number>()
  for (const { t } of rows) types.set(t, (types.get(t) ?? 0) + 1)
  return { text: JSON.stringify(rows), types: [...types] }
}

/** Stores a snapshot, `perPage` rows a page. */
export async function storeSnapshot(
  database: Database,
  { sid, epoch, rows }: State,
  perPage = 2,
): Promise<void> {
  const writer = await database.snapshot()
  const all = [...rows.values()]
  for (let from = 0; from < all.length; from += perPage) {
    await writer.page(pageOf(all.slice(from, from + perPage)))
  }
  await writer.commit({ sid, ...(epoch === undefined ? undefined : { epoch }) })
}

export function row(id: string, p: WireRow['p'] = {}, t = 'Issue'): WireRow {
  return { t, id, p }
}

export function rowsNamed(...ids: readonly string[]): readonly WireRow[] {
  return ids.map((id) => row(id, { title: id }))
}

function applyAll(rows: Map<string, WireRow>, ops: readonly RowOp[]): void {
  for (const op of ops) {
    const key = rowKey(op.t, op.id)
    const after = applyOp(rows.get(key), op)
    if (after) rows.set(key, after)
    else rows.delete(key)
  }
}
