import * as z from 'zod/mini'
import { lenient, nameSchema, payloadSchema } from './parts.ts'

/** One synced record, whole (the interface's "WireRow"). */
export const wireRowSchema = z.object({
  t: nameSchema,
  id: nameSchema,
  v: lenient(z.number()),
  p: payloadSchema,
})
