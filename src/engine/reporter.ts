import type { ErrorReporter } from '../base/error-reporter.ts'
import { isSyncError, type SyncError } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import type { Anomaly } from '../protocol/anomaly.ts'
import type { SyncEvents } from './events.ts'

export interface ReporterOptions {
  /** Emits an event with the next commit. */
  readonly emit: <Name extends keyof SyncEvents>(name: Name, event: SyncEvents[Name]) => void
  readonly logger: Logger
  /** The server refused the credentials. */
  readonly onRefused: (error: SyncError) => void
}

/** Reports errors and anomalies to the log and as events, and passes a 401 on. */
export class Reporter implements ErrorReporter {
  readonly #options: ReporterOptions

  constructor(options: ReporterOptions) {
    this.#options = options
  }

  error(error: SyncError): void {
    this.#options.logger.warn(error.message, { error })
    this.#options.emit('error', error)
  }

  anomalies(anomalies: readonly Anomaly[]): void {
    for (const anomaly of anomalies) {
      this.#options.logger.warn(anomaly.message, anomaly)
      this.#options.emit('anomaly', anomaly)
    }
  }

  /** Reports a failed request. A NetworkError is not reported: the status shows that the client is offline. */
  failure(error: SyncError): void {
    if (isSyncError(error, 'UnauthenticatedError')) this.#options.onRefused(error)
    else if (!isSyncError(error, 'NetworkError')) this.error(error)
  }
}
