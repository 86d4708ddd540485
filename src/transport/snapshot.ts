import type { Logger } from '../base/logger.ts'
import type { Fetch } from '../base/world.ts'
import type { SnapshotHead } from '../protocol/bootstrap.ts'
import type { Call } from './call.ts'
import { readCut } from './cut.ts'
import { cutSnapshot, type SnapshotSource } from './cut-snapshot.ts'
import type { SnapshotSink, SnapshotSlice } from './transport.ts'

/** Fetches one snapshot, and reads it. */
export interface SnapshotReader {
  /** Asks for it. What it resolves with need not have a body where it is a 2xx. */
  readonly fetch: Fetch
  /** Reads it into `sink`, a slice at a time, once `fetch` has brought a 2xx: `source.response`. */
  read(source: SnapshotSource, sink: SnapshotSink): Promise<SnapshotHead>
}

/** What fetches and reads snapshots beside the page. */
export interface SnapshotWorker {
  /** Begins with one, until `call` ends. Resolves with `undefined`, and says why, where the page is to do it by itself. */
  begin(call: Call, logger: Logger): Promise<SnapshotReader | undefined>
}

/** Reads a snapshot in the page. Rejects as {@link cutSnapshot} does, and where a slice is no JSON. */
export function readSnapshot(source: SnapshotSource, sink: SnapshotSink): Promise<SnapshotHead> {
  return cutSnapshot<SnapshotSlice>(source, {
    read: (bytes, cut) => readCut(bytes.take(), cut),
    slice: (slice) => sink.slice(slice),
    progress: (progress) => sink.progress(progress),
  })
}
