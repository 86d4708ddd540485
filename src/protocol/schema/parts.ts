import * as z from 'zod/mini'
import { isName, isPayload, isSid } from '../guards.ts'
import type { Payload } from '../json.ts'

export const nameSchema = z.string().check(z.refine(isName))

export const sidSchema = z.number().check(z.refine(isSid))

/** Passed through by reference: a schema that walked the payload would copy it and drop unknown fields. */
export const payloadSchema = z.custom<Payload>(isPayload)

/** An optional field. A value of another type counts as absent. */
export function lenient<Schema extends z.ZodMiniType>(schema: Schema) {
  return z.optional(z.catch(z.optional(schema), undefined))
}

/** The extensions of the requests that the server supports: a client must not use others. */
export const featuresSchema = lenient(z.readonly(z.array(z.string())))
