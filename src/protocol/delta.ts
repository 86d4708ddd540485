import { ProtocolError } from '../base/errors.ts'
import { readEnvelope, readSid } from './envelope.ts'
import { asInsert, type RowOp } from './fold.ts'
import { readFrame } from './frame.ts'
import { epochAndCallerOf, isSid } from './guards.ts'
import { readUncheckedRow } from './row.ts'

/** A delta of any format, as single changes. */
export interface DeltaMessage {
  readonly sid: number
  readonly epoch?: string
  /** The user who sent the request, if the server names one. */
  readonly caller?: string
  /**
   * The delta has all changes between `since` and `sid` that the user may see. A push without `since` proves nothing
   * about earlier changes.
   */
  readonly since?: number
  /** The format of its items. Rows cannot express a removal. */
  readonly kind: 'frame' | 'row'
  readonly frames: readonly DeltaFrame[]
  /** The reason for each item that is left out. */
  readonly broken: readonly string[]
}

/** A frame, or a row as a frame that inserts the row at the `sid` of its message. */
export type DeltaFrame = RowOp & {
  readonly sid: number
  readonly at?: number | undefined
  /** The id of the transaction that made the change, if the server names it. */
  readonly tx?: string | undefined
}

/**
 * The frames of a delta in the order in which to apply them: ascending `sid`, equal ones as received. Leaves out frames
 * for whose `sid` `had` returns `true`: they were applied before.
 */
export function framesOf({ frames }: DeltaMessage, had: (sid: number) => boolean): readonly DeltaFrame[] {
  return frames.filter((frame) => !had(frame.sid)).sort((a, b) => a.sid - b.sid)
}

/** The number of frames in a part of a delta, approximately. */
const partFrames = 500

/**
 * The response to a request with `since`, as deltas that continue each other. The frames of one transaction stay
 * together.
 */
export function* partsOf(
  delta: DeltaMessage,
  since: number,
): Iterable<DeltaMessage & { readonly since: number }> {
  const frames = framesOf(delta, () => false)
  let { broken } = delta
  let start = 0
  let from = since
  for (;;) {
    let end = start + partFrames
    while (isTogether(frames[end - 1], frames[end])) end += 1
    const { sid } = frames[end - 1] ?? delta
    if (end >= frames.length || sid >= delta.sid) break
    yield { ...delta, since: from, sid, frames: frames.slice(start, end), broken }
    broken = []
    start = end
    from = sid
  }
  yield { ...delta, since: from, frames: frames.slice(start), broken }
}

function isTogether(before: DeltaFrame | undefined, frame: DeltaFrame | undefined): boolean {
  return (
    frame !== undefined && (frame.sid === before?.sid || (frame.tx !== undefined && frame.tx === before?.tx))
  )
}

/**
 * Reads `value` as a delta. Leaves out broken items and lists the reasons in `broken`. Throws a ProtocolError if the
 * message itself is broken.
 */
export function readDelta(value: unknown): DeltaMessage {
  const what = 'The delta'
  const message = readEnvelope(value, what)
  const { since, frames, rows } = message
  const sid = readSid(message, what)
  const common = {
    sid,
    ...epochAndCallerOf(message),
    ...(isSid(since) ? { since } : undefined),
  }
  if (Array.isArray(frames)) return { ...common, ...readFrames(frames) }
  if (Array.isArray(rows)) return { ...common, ...readRows(rows, sid) }
  if ('op' in message) return { ...common, ...readFrames([message]) }
  if ('t' in message) return { ...common, ...readRows([message], sid) }
  throw new ProtocolError('bad_envelope', `${what} has neither \`frames\` nor \`rows\`.`)
}

type Items = Pick<DeltaMessage, 'kind' | 'frames' | 'broken'>

export function readFrames(items: readonly unknown[]): Items {
  const { read, broken } = readItems(items, readFrame)
  return { kind: 'frame', frames: read, broken }
}

function readRows(items: readonly unknown[], sid: number): Items {
  const { read, broken } = readItems(items, readUncheckedRow)
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
