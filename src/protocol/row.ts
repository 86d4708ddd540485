import type * as z from 'zod/mini'
import { isName, isPayload } from './guards.ts'
import { isDeeperThan, isObject, maxDepth } from './json.ts'
import type { wireRowSchema } from './schema/row.ts'

export type WireRow = Readonly<z.infer<typeof wireRowSchema>>

/**
 * Returns `value` as a row, or the reason why it is not one. Accepts what {@link wireRowSchema} accepts, but does not
 * walk or copy the payload: a snapshot can have a hundred thousand rows.
 */
export function readRow(value: unknown): WireRow | string {
  if (!isObject(value)) return 'a row is not an object'
  const { t, id, v, p } = value
  if (!isName(t)) return 'a row has no usable type `t`'
  if (!isName(id)) return `a row of type ${t} has no usable \`id\``
  if (!isPayload(p)) return `the row ${t} ${id} has no usable payload \`p\``
  if (v === undefined || Number.isFinite(v)) return value as WireRow
  return { t, id, p }
}

/** The reason why a row is refused that nests too deep. */
export const tooDeep = `a row nests deeper than ${maxDepth} levels`

/** As {@link readRow}, for a value whose depth has not been checked. */
export function readUncheckedRow(value: unknown): WireRow | string {
  return isDeeperThan(maxDepth, value) ? tooDeep : readRow(value)
}
