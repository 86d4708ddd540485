import { ProtocolError } from '../base/errors.ts'
import { isSid } from './guards.ts'
import { isObject, readJson } from './json.ts'

/**
 * Returns the `sid` of a message. Throws a ProtocolError if it is missing or not a safe integer. `what`: the subject of
 * the error message.
 */
export function readSid(value: { readonly [name: string]: unknown }, what: string): number {
  const { sid } = value
  if (isSid(sid)) return sid
  if (sid === undefined) throw new ProtocolError('bad_envelope', `${what} has no \`sid\`.`)
  throw new ProtocolError('bad_sid', `${what} has a \`sid\` that is not a safe integer.`)
}

/** Parses the text of a response. Throws a ProtocolError if it is not JSON but, for example, a sign-in page. */
export function parseJson(text: string, what: string): unknown {
  const value = readJson(text)
  if (value === undefined) throw notJson(what)
  return value
}

/**
 * The error for a text that is not JSON. It does not quote the text, as the engine's own error would: the text may be
 * private data.
 */
export function notJson(what: string): ProtocolError {
  return new ProtocolError('not_json', `${what} is not JSON; a proxy may have answered.`)
}

/** Returns `value` as an object. Throws a ProtocolError if it is not an object. */
export function readEnvelope(value: unknown, what: string): { readonly [name: string]: unknown } {
  if (isObject(value)) return value
  throw new ProtocolError('bad_envelope', `${what} is not a JSON object.`)
}
