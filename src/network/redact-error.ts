/**
 * A copy of a foreign error with only its class and its code. Its message and other properties may quote a credential.
 */
export function redactError(thrown: unknown): Error {
  const { name, code, cause } = fieldsOf(thrown)
  const words = [word(name), word(code) ?? word(fieldsOf(cause).code)]
  return new Error(words.filter(Boolean).join(' '))
}

interface ErrorFields {
  readonly name?: unknown
  readonly code?: unknown
  readonly cause?: unknown
}

function fieldsOf(value: unknown): ErrorFields {
  return value instanceof Error ? value : {}
}

function word(value: unknown): string | undefined {
  return typeof value === 'string' && /^\w{1,40}$/.test(value) ? value : undefined
}
