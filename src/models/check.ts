import { ConfigurationError, toError } from '../base/errors.ts'
import type { Payload } from '../protocol/json.ts'
import type { Models } from './models.ts'
import type { SchemaIssue } from './standard-schema.ts'

/** One thing about a payload that its schema does not accept. */
export interface ModelIssue {
  /** The schema's own sentence. */
  readonly message: string
  /** From the payload to the place; the first is the field. Empty where it is about the whole. */
  readonly path: readonly string[]
}

/** A record's payload before and after the fields `written` were. */
export interface UpdatedPayload {
  readonly before: Payload
  readonly written: Payload
  readonly after: Payload
}

/**
 * What is wrong with `payload` as a record of type `t`: an empty list where nothing is, or where `t` is not declared.
 * The payload itself is never changed: what the schema makes of it is dropped. Throws a ConfigurationError where the
 * schema gives a promise: it can only validate asynchronously, or, as zod's does, it throws by one.
 */
export function check(models: Models, t: string, payload: Payload): readonly ModelIssue[] {
  const declared = models.types.get(t)
  if (!declared) return []
  const result = validate(() => declared.schema['~standard'].validate(payload))
  if (result instanceof Promise) {
    // It is not awaited: should it reject, nobody else would hear it.
    result.catch(() => {})
    const why = 'it validates asynchronously, or one of its checks throws'
    const message = `The schema of \`${t}\` gives a promise: ${why}; give one that answers at once.`
    throw new ConfigurationError(`models.${t}`, message)
  }
  return (result.issues ?? []).map(readIssue)
}

/**
 * What is wrong with `after` by the write of the fields `written` to `before`: what was wrong before, and is not written,
 * does not count, so that an old record can be mended field by field. Throws as {@link check} does.
 */
export function checkUpdate(
  models: Models,
  t: string,
  { before, written, after }: UpdatedPayload,
): readonly ModelIssue[] {
  const found = check(models, t, after)
  return found.length === 0 ? found : brokenBy(written, found, check(models, t, before))
}

/** Those of `found` that a write of the fields `written` is to blame for, where the record `had` some before. */
export function brokenBy(
  written: Payload,
  found: readonly ModelIssue[],
  had: readonly ModelIssue[],
): readonly ModelIssue[] {
  const old = new Set(had.map(keyOf))
  const isWritten = ({ path: [field] }: ModelIssue) => field !== undefined && Object.hasOwn(written, field)
  return found.filter((issue) => isWritten(issue) || !old.has(keyOf(issue)))
}

/** What is wrong with the record `id`, as a sentence. */
export function sentenceOf(t: string, id: string, { path, message }: ModelIssue): string {
  const place = path.length === 0 ? '' : ` at \`${path.join('.')}\``
  return `${t} ${id} breaks its model${place}: ${message.replace(/\.?$/, '.')}`
}

function keyOf({ path, message }: ModelIssue): string {
  return JSON.stringify([path, message])
}

/** A schema that throws says by it that something is wrong. */
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
