import { ProtocolError } from '../base/errors.ts'
import { isSid } from './guards.ts'
import { isObject, readJson } from './json.ts'

/** The `sid` of a message. Throws a ProtocolError where it is missing or not a safe integer. */
export function readSid(value: { readonly [name: string]: unknown }, what: string): number {
  const { sid } = value
  if (isSid(sid)) return sid
  if (sid === undefined) throw new ProtocolError('bad_envelope', `${what} carries no \`sid\`.`)
  throw new ProtocolError('bad_sid', `${what} carries a \`sid\` that is no safe integer.`)
}

/** The text of an answer as JSON. Throws a ProtocolError where it is something else, a sign-in page for example. */
export function parseJson(text: string, what: string): unknown {
  const value = readJson(text)
  if (value === undefined) throw notJson(what)
  return value
}

/** It quotes nothing of the text, as the engine's own error would: that may be anybody's data. */
export function notJson(what: string): ProtocolError {
  return new ProtocolError('not_json', `${what} is not JSON; is something between client and server?`)
}

/** `value` as an object. Throws a ProtocolError where it is none. */
export function readEnvelope(value: unknown, what: string): { readonly [name: string]: unknown } {
  if (isObject(value)) return value
  throw new ProtocolError('bad_envelope', `${what} is not a JSON object.`)
}
