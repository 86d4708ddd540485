import type * as z from 'zod/mini'
import { isName, isPayload } from './guards.ts'
import { isDeeperThan, isObject, maxDepth } from './json.ts'
import type { wireRowSchema } from './schema/row.ts'

export type WireRow = Readonly<z.infer<typeof wireRowSchema>>

/**
 * `value` as a row, or what is wrong with it. It holds what {@link wireRowSchema} holds, without walking or
 * copying the payload: a snapshot brings a hundred thousand of them.
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

/** What is wrong with a row that nests too deep. */
export const tooDeep = `a row nests deeper than ${maxDepth} levels`

/** As {@link readRow}, of a value of which it is not known that it does not nest too deep. */
export function readShallowRow(value: unknown): WireRow | string {
  return isDeeperThan(maxDepth, value) ? tooDeep : readRow(value)
}
