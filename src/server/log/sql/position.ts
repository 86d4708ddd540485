import type { Position } from '../log.ts'
import { type Int8, toNumber } from './int8.ts'

/** A row of `instep_state`. */
export interface PositionRow {
  readonly history: string
  readonly head: Int8
  readonly horizon: Int8
}

export function positionOf(row: PositionRow | undefined): Position {
  if (!row) throw new Error('The table instep_state is empty; restore it from a backup.')
  return { history: row.history, head: toNumber(row.head), horizon: toNumber(row.horizon) }
}
