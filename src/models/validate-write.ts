import { ValidationError } from '../base/errors.ts'
import type { Payload } from '../protocol/json.ts'
import { issuesOf, issuesOfUpdate, type ModelIssue, type UpdatedPayload } from './issues.ts'
import type { Models } from './models.ts'

/**
 * Checks a whole record and returns its payload: `payload`, with the `id` added if the model requires the field. Throws
 * a ValidationError if the payload breaks the model, and a ConfigurationError as {@link issuesOf} does.
 */
export function validatePayload(models: Models, t: string, id: string, payload: Payload): Payload {
  const issues = issuesOf(models, t, payload)
  const needsId = issues.some(({ path }) => path[0] === 'id')
  const withId = needsId ? { ...payload, id } : payload
  throwIfAny(t, needsId ? issuesOf(models, t, withId) : issues)
  return withId
}

/** Checks an update. Throws as {@link validatePayload} does, for the issues that {@link issuesOfUpdate} returns. */
export function validateUpdate(models: Models, t: string, update: UpdatedPayload): void {
  throwIfAny(t, issuesOfUpdate(models, t, update))
}

function throwIfAny(t: string, found: readonly ModelIssue[]): void {
  const issues = found.map(({ path, message }) => ({ field: path.join('.'), reason: message }))
  const [first] = issues
  if (first) throw new ValidationError(t, first.field, first.reason, { issues })
}
