import { ProtocolError } from '../base/errors.ts'
import { readEnvelope, readSid } from './envelope.ts'
import { asInsert, type RowOp } from './fold.ts'
import { readFrame } from './frame.ts'
import { isSid, namesOf } from './guards.ts'
import { readShallowRow } from './row.ts'

/** A delta of any shape, read: changes one by one. */
export interface DeltaMessage {
  readonly sid: number
  readonly epoch?: string
  /** The user who asked, where the server says so. */
  readonly caller?: string
  /** "All that is yours between `since` and `sid`"; on a socket it may be missing, and proves nothing then. */
  readonly since?: number
  /** What it came as. Rows tell of no removal. */
  readonly kind: 'frame' | 'row'
  readonly frames: readonly DeltaFrame[]
  /** What was wrong with each item that is left out. */
  readonly broken: readonly string[]
}

/** A frame; or a whole row as one that puts it in place, at the `sid` of its message. */
export type DeltaFrame = RowOp & {
  readonly sid: number
  readonly at?: number | undefined
  /** The transaction that made it, where the server says so. */
  readonly tx?: string | undefined
}

/**
 * The frames of a delta in the order in which they apply: ascending `sid`, equal ones as they came, and without those that
 * `had` says were applied before.
 */
export function framesOf({ frames }: DeltaMessage, had: (sid: number) => boolean): readonly DeltaFrame[] {
  return frames.filter((frame) => !had(frame.sid)).sort((a, b) => a.sid - b.sid)
}

/**
 * `value` as a delta. An item that is broken is left out and named in `broken`; where the message itself is broken,
 * a ProtocolError is thrown.
 */
export function readDelta(value: unknown): DeltaMessage {
  const what = 'The delta'
  const message = readEnvelope(value, what)
  const { since, frames, rows } = message
  const sid = readSid(message, what)
  const common = {
    sid,
    ...namesOf(message),
    ...(isSid(since) ? { since } : undefined),
  }
  if (Array.isArray(frames)) return { ...common, ...readFrames(frames) }
  if (Array.isArray(rows)) return { ...common, ...readRows(rows, sid) }
  if ('op' in message) return { ...common, ...readFrames([message]) }
  if ('t' in message) return { ...common, ...readRows([message], sid) }
  throw new ProtocolError('bad_envelope', `${what} carries neither \`frames\` nor \`rows\`.`)
}

type Items = Pick<DeltaMessage, 'kind' | 'frames' | 'broken'>

export function readFrames(items: readonly unknown[]): Items {
  const { read, broken } = readItems(items, readFrame)
  return { kind: 'frame', frames: read, broken }
}

function readRows(items: readonly unknown[], sid: number): Items {
  const { read, broken } = readItems(items, readShallowRow)
  return { kind: 'row', frames: read.map((row) => ({ ...asInsert(row), sid })), broken }
}

function readItems<T extends object>(items: readonly unknown[], readItem: (item: unknown) => T | string) {
  const read: T[] = []
  const broken: string[] = []
  for (const item of items) {
    const result = readItem(item)
    if (typeof result === 'string') broken.push(result)
    else read.push(result)
  }
  return { read, broken }
}
