import type { SnapshotHead } from '../protocol/bootstrap.ts'
import type { DeltaMessage } from '../protocol/delta.ts'
import type { WireRow } from '../protocol/row.ts'

/**
 * The calls to the service over HTTP. Credentials are asked for again on every call. Each rejects with one of:
 * UnauthenticatedError (401, or no credentials to send), HttpError (any other status that is no 2xx), ProtocolError
 * (a 2xx that is not what the protocol promises), NetworkError (no answer, a redirect, or nothing in time),
 * ConfigurationError (a credential that no header can carry); with the signal's reason where `signal` ended it. No
 * URL, message or cause of an error holds a credential.
 */
export interface Transport {
  /** Fetches a snapshot; its rows come to `sink` while it streams in. Resolves once it has come whole. */
  bootstrap(sink: SnapshotSink, signal?: AbortSignal): Promise<SnapshotHead>
  /** Fetches the changes made after `since`. */
  delta(since: number, signal?: AbortSignal): Promise<DeltaMessage>
  /**
   * Sends what `body` returns or resolves with as JSON to the transaction endpoint. `body` is called once there are
   * credentials, right before the request goes out. Resolves with the answer's JSON. Rejects with a ConfigurationError
   * where there is nothing to send.
   */
  transact(body: () => unknown, signal?: AbortSignal): Promise<unknown>
}

export interface SnapshotSink {
  /** Takes the next rows. The stream is read on once the promise resolves; a rejection ends the call with it. */
  slice(slice: SnapshotSlice): Promise<void>
  /** Called as bytes arrive, also between two slices. */
  progress(progress: SnapshotProgress): void
}

/** About 1 000 rows or 256 kB of a snapshot. */
export interface SnapshotSlice {
  readonly rows: readonly WireRow[]
  /** A JSON array of just these rows: the text as it came, unless an item was left out. */
  readonly text: string
  /** What was wrong with each item that is left out. */
  readonly broken: readonly string[]
}

/** How far a first sync has come. */
export interface SnapshotProgress {
  readonly rows: number
  /** Bytes received, decoded. */
  readonly bytes: number
  /** 0 to 1, where the server says how much is to come. */
  readonly fraction: number | undefined
}
