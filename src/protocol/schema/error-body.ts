import * as z from 'zod/mini'
import { lenient } from './parts.ts'

/** The body of an answer that is no 2xx, from a service that gives one. */
export const errorBodySchema = z.object({
  error: z.object({ code: z.string(), message: lenient(z.string()) }),
})
