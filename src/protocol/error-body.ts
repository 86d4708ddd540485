import * as z from 'zod/mini'
import { lenient } from './schemas.ts'

/** The body of an answer that is no 2xx, from a service that gives one. */
export const errorBodySchema = z.object({
  error: z.object({ code: z.string(), message: lenient(z.string()) }),
})

export type ErrorBody = z.infer<typeof errorBodySchema>

/** The error that `text` carries, or `undefined` where it is not the protocol's own body. */
export function readErrorBody(text: string): ErrorBody['error'] | undefined {
  try {
    return errorBodySchema.safeParse(JSON.parse(text)).data?.error
  } catch {
    return undefined
  }
}
