import * as z from 'zod/mini'
import { lenient } from './parts.ts'

/** The body of a response that is not 2xx, if the service sends one (docs/protocol.md, "Failures"). */
export const errorBodySchema = z.object({
  error: z.object({ code: z.string(), message: lenient(z.string()) }),
})
