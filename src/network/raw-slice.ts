import { notJson, parseJson } from '../protocol/envelope.ts'
import { readRow, readUncheckedRow, type WireRow } from '../protocol/row.ts'
import type { SnapshotSlice } from './transport.ts'

/** The subject of error messages. */
export const snapshot = 'The snapshot'

/** A slice of a snapshot's array of rows, as received. */
export interface RawSlice {
  /** The number of items; `undefined` if some rows were split off by line feeds and not counted. */
  readonly items: number | undefined
  /** The reason for each item that was left out. */
  readonly broken: readonly string[]
}

/** The rows of `text`, a JSON array. Throws a ProtocolError if it is not JSON. */
export function parseSlice(text: string, { items, broken }: RawSlice): SnapshotSlice {
  const values = parseJson(text, snapshot) as readonly unknown[]
  // An empty place between two commas was counted as an item, but JSON refuses it.
  if (items === undefined ? values.length === 0 : values.length !== items) throw notJson(snapshot)
  const read = items === undefined ? readUncheckedRow : readRow
  const rows: WireRow[] = []
  const faults: string[] = []
  let isUnchanged = true
  for (const value of values) {
    const row = read(value)
    if (typeof row === 'string') faults.push(row)
    else rows.push(row)
    isUnchanged &&= row === value
  }
  return { rows, text: isUnchanged ? text : JSON.stringify(rows), broken: [...broken, ...faults] }
}
