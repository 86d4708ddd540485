import type { SyncError } from './errors.ts'

/** Logs and emits the errors that no caller can catch. */
export interface ErrorReporter {
  error(error: SyncError): void
  /** A request failed. Being offline is a state, not an error: the status shows it. */
  failure(error: SyncError): void
}
