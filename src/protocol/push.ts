import { isSyncError } from '../base/errors.ts'
import { type DeltaMessage, readDelta, readFrames } from './delta.ts'
import { isSid } from './guards.ts'
import { type Hello, readHello } from './hello.ts'
import { isObject, readJson } from './json.ts'

/** One message on the socket. */
export type Push =
  | { readonly kind: 'hello'; readonly hello: Hello }
  | { readonly kind: 'delta'; readonly delta: DeltaMessage }
  /** `{sid}` alone: the history has reached this position. */
  | { readonly kind: 'position'; readonly sid: number }
  /** Any other JSON: something may have changed. */
  | { readonly kind: 'hint' }
  | { readonly kind: 'garbage' }

/** Reads one message. `data`: the data of the socket's event. Never throws. */
export function readPush(data: unknown): Push {
  const value = readJson(data)
  if (value === undefined) return { kind: 'garbage' }
  if (Array.isArray(value)) return readFrameArray(value)
  if (!isObject(value)) return { kind: 'hint' }
  const hello = readHello(value.hello)
  if (hello) return { kind: 'hello', hello }
  const { sid } = value
  if (Object.keys(value).length === 1 && isSid(sid)) return { kind: 'position', sid }
  try {
    return { kind: 'delta', delta: readDelta(value) }
  } catch (error) {
    if (isSyncError(error, 'ProtocolError')) return { kind: 'hint' }
    throw error
  }
}

/** An array of frames has no position of its own: it reaches to its highest `sid`. */
function readFrameArray(items: readonly unknown[]): Push {
  const read = readFrames(items)
  if (read.frames.length === 0) return { kind: 'hint' }
  const sid = read.frames.reduce((highest, next) => Math.max(highest, next.sid), Number.NEGATIVE_INFINITY)
  return { kind: 'delta', delta: { sid, ...read } }
}
