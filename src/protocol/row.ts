import type * as z from 'zod/mini'
import { isName, isPayload } from './guards.ts'
import { isObject } from './json.ts'
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
