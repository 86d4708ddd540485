import type { SyncError } from './errors.ts'

/** Logs and emits the errors that no caller can catch. */
export interface ErrorReporter {
  error(error: SyncError): void
  /** Reports a failed request. Being offline is not reported: it is a state, which the status shows. */
  failure(error: SyncError): void
}
