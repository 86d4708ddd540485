import { ValidationError } from '../base/errors.ts'
import type { Payload } from '../protocol/json.ts'
import { check, checkUpdate, type ModelIssue, type UpdatedPayload } from './check.ts'
import type { Models } from './models.ts'

/**
 * Checks a whole record and returns its payload: `payload`, with the `id` added if the model requires the field. Throws
 * a ValidationError if the payload breaks the model, and a ConfigurationError as {@link check} does.
 */
export function checkedWhole(models: Models, t: string, id: string, payload: Payload): Payload {
  const issues = check(models, t, payload)
  const needsId = issues.some(({ path }) => path[0] === 'id')
  const withId = needsId ? { ...payload, id } : payload
  throwFirst(t, needsId ? check(models, t, withId) : issues)
  return withId
}

/** Checks an update. Throws as {@link checkedWhole} does, for the issues that {@link checkUpdate} returns. */
export function refuseUpdate(models: Models, t: string, update: UpdatedPayload): void {
  throwFirst(t, checkUpdate(models, t, update))
}

function throwFirst(t: string, [issue]: readonly ModelIssue[]): void {
  if (issue) throw new ValidationError(t, issue.path.join('.'), issue.message)
}
