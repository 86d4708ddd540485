import type { Clock } from '../base/environment.ts'
import { yieldAfter } from '../base/turns.ts'
import type { SnapshotHead } from '../protocol/bootstrap.ts'
import { readBody } from './body.ts'
import { parseSlice, type RawSlice } from './raw-slice.ts'
import type { PendingRequest } from './request.ts'
import { SnapshotScanner } from './scanner.ts'
import type { SnapshotSink } from './transport.ts'

export interface SnapshotSource {
  readonly call: PendingRequest
  readonly clock: Clock
  readonly response: Response
  /**
   * Called with the caller that the snapshot names, before any row is passed on if the caller precedes the rows. Throws
   * if it is another user.
   */
  readonly checkCaller: (caller: string | undefined) => void
}

/** The maximum length of a row, in bytes. */
const maxRowBytes = 16 * 2 ** 20

/** The longest time, in ms, that reading blocks other tasks. */
const turnMs = 12

/**
 * Reads a snapshot into `sink`, slice by slice. Reads on when the sink has taken a slice. Rejects with the sink's
 * error, or as {@link readBody} and {@link SnapshotScanner} do.
 */
export async function readSnapshot(source: SnapshotSource, sink: SnapshotSink): Promise<SnapshotHead> {
  const { response, call, clock, checkCaller } = source
  const total = contentLength(response)
  let bytes = 0
  let rows = 0
  const slices: (readonly [text: string, cut: RawSlice])[] = []
  const scanner = new SnapshotScanner(maxRowBytes, (buffer, cut) => slices.push([buffer.take(), cut]))
  const pauseIfLong = yieldAfter(clock, turnMs)
  for await (const part of readBody(response, call)) {
    scanner.push(part)
    bytes += part.length
    checkCaller(scanner.caller)
    for (const [text, cut] of slices.splice(0)) {
      call.signal.throwIfAborted()
      const slice = parseSlice(text, cut)
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
 * The length of the body in bytes; 0 if unknown. With a content coding, the header counts encoded bytes, and across
 * origins a page cannot see the coding (Fetch standard, "CORS-safelisted response-header name").
 */
function contentLength({ headers, type }: Response): number {
  return type === 'cors' || headers.has('Content-Encoding') ? 0 : Number(headers.get('Content-Length'))
}

/** The fraction; `undefined` if `part` exceeds `whole`, which is then wrong. */
function ratio(part: number, whole: number): number | undefined {
  if (!(part <= whole)) return undefined
  return whole === 0 ? 1 : part / whole
}
