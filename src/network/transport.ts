import type { SnapshotHead } from '../protocol/bootstrap.ts'
import type { DeltaMessage } from '../protocol/delta.ts'
import type { WireRow } from '../protocol/row.ts'

/**
 * The requests to the service over HTTP. Each request gets its credentials again. Each method rejects with one of:
 * - UnauthenticatedError: status 401, or no credentials to send
 * - HttpError: any other status that is not 2xx
 * - ProtocolError: a 2xx response that breaks the protocol
 * - NetworkError: no response, a redirect, or a timeout
 * - ConfigurationError: a credential that no header can carry
 * - the reason of `signal`, if `signal` was aborted
 *
 * No URL, message or cause of an error contains a credential.
 */
export interface Transport {
  /** Fetches a snapshot and passes its rows to `sink` while it streams in. Resolves once it is complete. */
  bootstrap(sink: SnapshotSink, signal?: AbortSignal): Promise<SnapshotHead>
  /** Fetches the changes made after `since`. */
  delta(since: number, signal?: AbortSignal): Promise<DeltaMessage>
  /**
   * Prepares a request with transactions: gets credentials, and reads whose they are if that is not known. Resolves with
   * the function that sends such a request, whose body is `json`, and resolves with the JSON of the response. Rejects
   * with a ConfigurationError if there is no address for transactions.
   */
  prepareTx(signal?: AbortSignal): Promise<(json: string) => Promise<unknown>>
}

export interface SnapshotSink {
  /**
   * Takes the next rows. Reading continues once the promise resolves. A rejection ends the request with the same error.
   */
  slice(slice: SnapshotSlice): Promise<void>
  /** Called as bytes arrive, also between slices. */
  progress(progress: Omit<SnapshotProgress, 'attempt'>): void
}

/** About 1 000 rows or 256 kB of a snapshot. */
export interface SnapshotSlice {
  readonly rows: readonly WireRow[]
  /** A JSON array of exactly these rows: the text as received, unless an item was left out. */
  readonly text: string
  /** The reason for each item that is left out. */
  readonly broken: readonly string[]
}

/** The progress of reading a snapshot. */
export interface SnapshotProgress {
  /** Counts the tries since the last snapshot that was complete, from 1. Each try begins from zero. */
  readonly attempt: number
  readonly rows: number
  /** The bytes received, after decoding. */
  readonly bytes: number
  /** 0 to 1; `undefined` if the server does not say how much is to come. */
  readonly fraction: number | undefined
}
