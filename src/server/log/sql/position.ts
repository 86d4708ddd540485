import type { Position } from '../log.ts'
import { type Int8, toNumber } from './int8.ts'

/** A row of `instep_state`. */
export interface PositionRow {
  readonly history: string
  readonly head: Int8
  readonly horizon: Int8
}

export function positionOf(found: PositionRow | undefined): Position {
  const row = stateIn([found])
  return { history: row.history, head: toNumber(row.head), horizon: toNumber(row.horizon) }
}

/** The one row of `instep_state`. */
export function stateIn<Row>([row]: readonly (Row | undefined)[]): Row {
  if (row === undefined) throw new Error('The table instep_state is empty; restore it from a backup.')
  return row
}
