import { ValidationError } from '../base/errors.ts'
import type { Payload } from '../protocol/json.ts'
import { check, checkUpdate, type ModelIssue, type UpdatedPayload } from './check.ts'
import type { Models } from './models.ts'

/**
 * The payload that makes the whole record `id`: `payload`, and the `id` in it where its model asks for one. Throws a
 * ValidationError where it breaks the model, and a ConfigurationError as {@link check} does.
 */
export function checkedWhole(models: Models, t: string, id: string, payload: Payload): Payload {
  const issues = check(models, t, payload)
  const asksForId = issues.some(({ path }) => path[0] === 'id')
  const named = asksForId ? { ...payload, id } : payload
  refuse(t, asksForId ? check(models, t, named) : issues)
  return named
}

/** Throws as {@link checkedWhole} does, and only for what counts by {@link checkUpdate}. */
export function refuseUpdate(models: Models, t: string, update: UpdatedPayload): void {
  refuse(t, checkUpdate(models, t, update))
}

function refuse(t: string, [issue]: readonly ModelIssue[]): void {
  if (issue) throw new ValidationError(t, issue.path.join('.'), issue.message)
}
