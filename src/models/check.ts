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

/**
 * What is wrong with `payload` as a record of type `t`: an empty list where nothing is, or where `t` is not declared.
 * The payload itself is never changed: what the schema makes of it is dropped. Throws a ConfigurationError where the
 * schema can only validate asynchronously.
 */
export function check(models: Models, t: string, payload: Payload): readonly ModelIssue[] {
  const declared = models.types.get(t)
  if (!declared) return []
  const result = validate(() => declared.schema['~standard'].validate(payload))
  if (result instanceof Promise) {
    // It is not awaited: should it reject, nobody else would hear it.
    result.catch(() => {})
    const message = `The schema of \`${t}\` validates asynchronously; give one that does it at once.`
    throw new ConfigurationError(`models.${t}`, message)
  }
  return (result.issues ?? []).map(readIssue)
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
