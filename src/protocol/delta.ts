import { ProtocolError } from '../base/errors.ts'
import { readEnvelope, readSid } from './envelope.ts'
import { readFrame, type SyncFrame } from './frame.ts'
import { epochOf, isSid } from './guards.ts'
import { isDeeperThan, maxDepth } from './json.ts'
import { readRow, type WireRow } from './row.ts'

/** A delta of any shape, read: changes one by one, or whole records. */
export interface DeltaMessage {
  readonly sid: number
  readonly epoch?: string
  /** "All that is yours between `since` and `sid`"; on a socket it may be missing, and proves nothing then. */
  readonly since?: number
  readonly changes:
    | { readonly kind: 'frames'; readonly frames: readonly SyncFrame[] }
    | { readonly kind: 'rows'; readonly rows: readonly WireRow[] }
  /** What was wrong with each item that is left out. */
  readonly broken: readonly string[]
}

/**
 * `value` as a delta. An item that is broken is left out and named in `broken`; where the message itself is broken,
 * a ProtocolError is thrown.
 */
export function readDelta(value: unknown): DeltaMessage {
  const what = 'The delta'
  const message = readEnvelope(value, what)
  const { since, frames, rows } = message
  const common = {
    sid: readSid(message, what),
    ...epochOf(message),
    ...(isSid(since) ? { since } : undefined),
  }
  if (Array.isArray(frames)) return { ...common, ...readFrames(frames) }
  if (Array.isArray(rows)) return { ...common, ...readRows(rows) }
  if ('op' in message) return { ...common, ...readFrames([message]) }
  if ('t' in message) return { ...common, ...readRows([message]) }
  throw new ProtocolError('bad_envelope', `${what} carries neither \`frames\` nor \`rows\`.`)
}

type Items = Pick<DeltaMessage, 'changes' | 'broken'>

export function readFrames(items: readonly unknown[]): Items {
  const { read, broken } = readItems(items, readFrame)
  return { changes: { kind: 'frames', frames: read }, broken }
}

function readRows(items: readonly unknown[]): Items {
  const { read, broken } = readItems(items, readShallowRow)
  return { changes: { kind: 'rows', rows: read }, broken }
}

function readShallowRow(value: unknown): WireRow | string {
  return isDeeperThan(maxDepth, value) ? `a row nests deeper than ${maxDepth} levels` : readRow(value)
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
