/**
 * A copy of a foreign error with only its class and its code. Its message and other properties may quote a credential.
 */
export function redactError(thrown: unknown): Error {
  const { name, code, cause } = fieldsOf(thrown)
  const words = [word(name), word(code) ?? word(fieldsOf(cause).code)]
  return new Error(words.filter(Boolean).join(' '))
}

/** The messages of mistakes in code, in the words of the engines. The messages of networks have none of these words. */
const mistakes =
  /illegal invocation|can only call|does not implement|is not (an? \w+|defined|iterable)|cannot read properties of \w+|can't (access|find)/i

/**
 * What a TypeError or a ReferenceError says about a mistake in the code; `undefined` for any other error, such as the
 * TypeError with which `fetch` reports that there is no network. Quotes no other part of the message.
 */
export function mistakeOf(thrown: unknown): string | undefined {
  const isOfCode = thrown instanceof Error && ['TypeError', 'ReferenceError'].includes(thrown.name)
  return isOfCode ? mistakes.exec(thrown.message)?.[0] : undefined
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
