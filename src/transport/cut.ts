import { ProtocolError } from '../base/errors.ts'
import { notJson, parseJson } from '../protocol/envelope.ts'
import { readRow, type WireRow } from '../protocol/row.ts'
import type { SnapshotSlice } from './transport.ts'

/** What an error is about. */
export const snapshot = 'The snapshot'

/** A part of a snapshot's array of rows, in the bytes that came. */
export interface Cut {
  /** How many items it holds. */
  readonly items: number
  /** What was wrong with each item that was left out. */
  readonly broken: readonly string[]
}

/** The rows of `text`, the JSON array that was cut. Throws a ProtocolError where it is no JSON. */
export function readCut(text: string, { items, broken }: Cut): SnapshotSlice {
  const values = parseJson(text, snapshot) as readonly unknown[]
  if (values.length > items) {
    const message = 'The snapshot says that each of its `rows` ends with a line feed, but some do not.'
    throw new ProtocolError('bad_envelope', message)
  }
  // Nothing between two commas counts as an item here, and as none for JSON.
  if (values.length < items) throw notJson(snapshot)
  const rows: WireRow[] = []
  const faults: string[] = []
  let asItCame = true
  for (const value of values) {
    const row = readRow(value)
    if (typeof row === 'string') faults.push(row)
    else rows.push(row)
    asItCame &&= row === value
  }
  return { rows, text: asItCame ? text : JSON.stringify(rows), broken: [...broken, ...faults] }
}
