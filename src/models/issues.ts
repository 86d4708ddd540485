import { ConfigurationError, toError } from '../base/errors.ts'
import type { Payload } from '../protocol/json.ts'
import type { Models } from './models.ts'
import type { SchemaIssue } from './standard-schema.ts'

/** One issue of a payload, as its schema reports it. */
export interface ModelIssue {
  /** The message of the schema. */
  readonly message: string
  /**
   * The path from the payload to the value; the first item is the field. Empty if the issue concerns the whole payload.
   */
  readonly path: readonly string[]
}

/** The payload of a record before and after an update of the fields `written`. */
export interface UpdatedPayload {
  readonly before: Payload
  readonly written: Payload
  readonly after: Payload
}

/**
 * Returns the issues of `payload` as a record of type `t`: an empty list if there are none, or if `t` is not declared.
 * Never changes the payload, and ignores the output of the schema. Throws a ConfigurationError if the schema returns a
 * promise: either the schema only validates asynchronously, or, with zod, one of its checks throws.
 */
export function issuesOf(models: Models, t: string, payload: Payload): readonly ModelIssue[] {
  const declared = models.types.get(t)
  if (!declared) return []
  const result = validate(() => declared.schema['~standard'].validate(payload))
  if (result instanceof Promise) {
    // Nothing awaits this promise: handle its rejection.
    result.catch(() => {})
    const message = `The schema of \`${t}\` returns a promise; use a synchronous schema whose checks do not throw.`
    throw new ConfigurationError(`models.${t}`, message)
  }
  return (result.issues ?? []).map(readIssue)
}

/**
 * Returns the issues of `after` that the update of the fields `written` causes. Issues that `before` has in other
 * fields do not count, so that an old record can be repaired field by field. Throws as {@link issuesOf} does.
 */
export function issuesOfUpdate(
  models: Models,
  t: string,
  { before, written, after }: UpdatedPayload,
): readonly ModelIssue[] {
  const found = issuesOf(models, t, after)
  return found.length === 0 ? found : causedIssues(written, found, issuesOf(models, t, before))
}

/**
 * Returns the issues in `found` that the update of the fields `written` causes. `had` lists the issues before the
 * update.
 */
export function causedIssues(
  written: Payload,
  found: readonly ModelIssue[],
  had: readonly ModelIssue[],
): readonly ModelIssue[] {
  const old = new Set(had.map(keyOf))
  const isWritten = ({ path: [field] }: ModelIssue) => field !== undefined && Object.hasOwn(written, field)
  return found.filter((issue) => isWritten(issue) || !old.has(keyOf(issue)))
}

/** Returns an issue of the record `id` as a sentence. */
export function sentenceOf(t: string, id: string, { path, message }: ModelIssue): string {
  const place = path.length === 0 ? '' : ` at \`${path.join('.')}\``
  return `${t} ${id} breaks its model${place}: ${message.replace(/\.?$/, '.')}`
}

function keyOf({ path, message }: ModelIssue): string {
  return JSON.stringify([path, message])
}

/** Runs the schema. An error that the schema throws counts as an issue. */
function validate<Result>(run: () => Result): Result | { readonly issues: readonly SchemaIssue[] } {
  try {
    return run()
  } catch (error) {
    return { issues: [{ message: `The schema threw: ${toError(error).message}` }] }
  }
}

function readIssue({ message, path = [] }: SchemaIssue): ModelIssue {
  return { message, path: path.map((step) => String(typeof step === 'object' ? step.key : step)) }
}
