import type * as z from 'zod/mini'
import { isObject, readJson } from './json.ts'
import type { errorBodySchema } from './schema/error-body.ts'

export type ErrorBody = z.infer<typeof errorBodySchema>

/**
 * Returns the error in `text`; `undefined` if `text` does not have the protocol's format for errors. Accepts what
 * {@link errorBodySchema} accepts.
 */
export function readErrorBody(text: string): ErrorBody['error'] | undefined {
  const value = readJson(text)
  const error = isObject(value) ? value.error : undefined
  if (!isObject(error) || typeof error.code !== 'string') return undefined
  const { code, message } = error
  return { code, ...(typeof message === 'string' ? { message } : undefined) }
}
