import type { Clock } from '../base/environment.ts'
import { yieldAfter } from '../base/turns.ts'
import type { SnapshotHead } from '../protocol/bootstrap.ts'
import { readBody } from './body.ts'
import { type Cut, readCut } from './cut.ts'
import type { PendingRequest } from './request.ts'
import { SnapshotScanner } from './scanner.ts'
import type { SnapshotSink } from './transport.ts'

export interface SnapshotSource {
  readonly call: PendingRequest
  readonly clock: Clock
  readonly response: Response
  /**
   * To be called with the caller that the snapshot names, before rows are taken if it comes before them. Throws if it is
   * another user's.
   */
  readonly checkCaller: (caller: string | undefined) => void
}

/** The longest row, in bytes. */
const maxRowBytes = 16 * 2 ** 20

/** The longest time that reading keeps other tasks waiting, in ms. */
const turnMs = 12

/**
 * Reads a snapshot into the sink, a slice at a time: the stream is read on once the sink has taken what came. Rejects with
 * what the sink rejects with, else as {@link readBody} and {@link SnapshotScanner} do.
 */
export async function readSnapshot(source: SnapshotSource, sink: SnapshotSink): Promise<SnapshotHead> {
  const { response, call, clock, checkCaller } = source
  const total = contentLength(response)
  let bytes = 0
  let rows = 0
  const slices: (readonly [text: string, cut: Cut])[] = []
  const scanner = new SnapshotScanner(maxRowBytes, (buffer, cut) => slices.push([buffer.take(), cut]))
  const pauseIfLong = yieldAfter(clock, turnMs)
  for await (const part of readBody(response, call)) {
    scanner.push(part)
    bytes += part.length
    checkCaller(scanner.caller)
    for (const [text, cut] of slices.splice(0)) {
      call.signal.throwIfAborted()
      const slice = readCut(text, cut)
      rows += slice.rows.length + slice.broken.length
      await sink.slice(slice)
    }
    const { count } = scanner
    sink.progress({ rows, bytes, fraction: count === undefined ? ratio(bytes, total) : ratio(rows, count) })
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
