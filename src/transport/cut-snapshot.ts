import { turnsOf } from '../base/turns.ts'
import type { Clock } from '../base/world.ts'
import type { SnapshotHead } from '../protocol/bootstrap.ts'
import { readBody } from './body.ts'
import type { Call } from './call.ts'
import type { Cut } from './cut.ts'
import { SnapshotScanner } from './scanner.ts'
import type { SnapshotProgress } from './transport.ts'

export interface SnapshotSource {
  readonly call: Call
  readonly clock: Clock
  readonly response: Response
}

/** The longest row, in bytes. */
const maxRowBytes = 16 * 2 ** 20

/** The longest time that reading keeps other tasks waiting, in ms. */
export const turnMs = 12

/** A slice, not parsed yet. */
export interface CutText {
  readonly text: string
  /** How long it was in UTF-8. */
  readonly bytes: number
  readonly cut: Cut
}

/** Takes what a snapshot was cut into. */
export interface CutSink {
  /** The stream is read on once the promise resolves; a rejection ends the reading with it. */
  slice(slice: CutText): Promise<void>
  progress(progress: CutProgress): void
}

/** How far it is, where nothing is parsed yet. */
export interface CutProgress {
  readonly bytes: number
  /** How many bytes there are in all; 0 where that is not told. */
  readonly total: number
  /** How many rows there are in all, if that is told. */
  readonly count: number | undefined
}

/** How far it is, once so many rows are read. */
export function progressOf({ bytes, total, count }: CutProgress, rows: number): SnapshotProgress {
  return { rows, bytes, fraction: count === undefined ? ratio(bytes, total) : ratio(rows, count) }
}

/**
 * Cuts a snapshot into slices, and hands on one at a time: the stream is read on once the sink has taken what came.
 * Rejects with what the sink rejects with, else as {@link readBody} and {@link SnapshotScanner} do.
 */
export async function cutSnapshot(source: SnapshotSource, sink: CutSink): Promise<SnapshotHead> {
  const { response, call, clock } = source
  const total = contentLength(response)
  let bytes = 0
  const slices: CutText[] = []
  const scanner = new SnapshotScanner(maxRowBytes, (buffer, cut) => {
    slices.push({ bytes: buffer.length, text: buffer.take(), cut })
  })
  const pauseIfLong = turnsOf(clock, turnMs)
  for await (const part of readBody(response, call)) {
    scanner.push(part)
    bytes += part.length
    for (const slice of slices.splice(0)) {
      call.signal.throwIfAborted()
      await sink.slice(slice)
    }
    sink.progress({ bytes, total, count: scanner.count })
    await pauseIfLong()
  }
  return scanner.end()
}

/**
 * How many bytes are to come; 0 where that is not told. Behind a content coding the header counts others, and across
 * origins a page cannot see whether there is one (Fetch standard, "CORS-safelisted response-header name").
 */
function contentLength({ headers, type }: Response): number {
  return type === 'cors' || headers.has('Content-Encoding') ? 0 : Number(headers.get('Content-Length'))
}

/** `undefined` where there is more than was told, and what was told is not to be believed. */
function ratio(part: number, whole: number): number | undefined {
  if (!(part <= whole)) return undefined
  return whole === 0 ? 1 : part / whole
}
