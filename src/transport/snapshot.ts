import type { Logger } from '../base/logger.ts'
import type { Clock, Fetch } from '../base/world.ts'
import type { SnapshotHead } from '../protocol/bootstrap.ts'
import { type Answer, answerOf } from './answer.ts'
import type { Call } from './call.ts'
import { countItems, readCut } from './cut.ts'
import { cutSnapshot, progressOf } from './cut-snapshot.ts'
import type { SnapshotSink } from './transport.ts'

/** Asks for a snapshot as `fetch` asks. */
export type SnapshotFetch = (url: string, init: RequestInit) => Promise<SnapshotAnswer>

export interface SnapshotAnswer extends Answer {
  /** Reads it into the sink, a slice at a time, if it is a 2xx. Rejects as {@link Transport.bootstrap} does. */
  read(): Promise<SnapshotHead>
}

/** Whatever it takes to fetch one snapshot. */
export interface SnapshotRequest {
  readonly call: Call
  readonly clock: Clock
  readonly fetch: Fetch
  readonly sink: SnapshotSink
  readonly logger: Logger
}

/** What fetches and reads snapshots beside the page: `snapshotWorker` makes it. */
export interface SnapshotWorker {
  /** Begins with one, until its call ends. Resolves with `undefined`, and says why, where the page is to do it. */
  begin(request: SnapshotRequest): Promise<SnapshotFetch | undefined>
}

/** Fetches and reads a snapshot in the page. */
export function inPage(request: SnapshotRequest): SnapshotFetch {
  const { fetch, sink, call } = request
  return async (url, init) => {
    const answer = await answerOf(fetch(url, init), call)
    let rows = 0
    const read = () =>
      cutSnapshot(
        { ...request, response: answer.response },
        {
          async slice({ text, cut }) {
            const slice = readCut(text, cut)
            rows += countItems(slice, cut)
            await sink.slice(slice)
          },
          progress: (progress) => sink.progress(progressOf(progress, rows)),
        },
      )
    return { ...answer, read }
  }
}
