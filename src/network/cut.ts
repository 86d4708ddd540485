import { notJson, parseJson } from '../protocol/envelope.ts'
import { readRow, readShallowRow, type WireRow } from '../protocol/row.ts'
import type { SnapshotSlice } from './transport.ts'

/** What an error is about. */
export const snapshot = 'The snapshot'

/** A part of a snapshot's array of rows, in the bytes that came. */
export interface Cut {
  /** How many items it holds; `undefined` where some of them stand on lines, and were not followed one by one. */
  readonly items: number | undefined
  /** What was wrong with each item that was left out. */
  readonly broken: readonly string[]
}

/** The rows of `text`, the JSON array that was cut. Throws a ProtocolError where it is no JSON. */
export function readCut(text: string, { items, broken }: Cut): SnapshotSlice {
  const values = parseJson(text, snapshot) as readonly unknown[]
  // Nothing between two commas counts as an item here, and as none for JSON.
  if (items === undefined ? values.length === 0 : values.length !== items) throw notJson(snapshot)
  const read = items === undefined ? readShallowRow : readRow
  const rows: WireRow[] = []
  const faults: string[] = []
  let asItCame = true
  for (const value of values) {
    const row = read(value)
    if (typeof row === 'string') faults.push(row)
    else rows.push(row)
    asItCame &&= row === value
  }
  return { rows, text: asItCame ? text : JSON.stringify(rows), broken: [...broken, ...faults] }
}
