import * as z from 'zod/mini'
import { lenient, nameSchema, payloadSchema } from './parts.ts'

/** A complete record (docs/protocol.md, "Rows and frames"). */
export const wireRowSchema = z.object({
  t: nameSchema,
  id: nameSchema,
  v: lenient(z.number()),
  p: payloadSchema,
})
