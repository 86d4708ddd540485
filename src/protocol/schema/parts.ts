import * as z from 'zod/mini'
import { isName, isPayload, isSid } from '../guards.ts'
import type { Payload } from '../json.ts'

export const nameSchema = z.string().check(z.refine(isName))

export const sidSchema = z.number().check(z.refine(isSid))

/** Passed through by reference: a schema that walked it would copy it and drop what it does not know. */
export const payloadSchema = z.custom<Payload>(isPayload)

/** For a field that is no condition of the message: of another type, it counts as absent. */
export function lenient<Schema extends z.ZodMiniType>(schema: Schema) {
  return z.optional(z.catch(z.optional(schema), undefined))
}
