import type { ErrorReporter } from '../base/error-reporter.ts'
import { isSyncError, type SyncError, toSyncError } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import type { Credentials } from '../network/credentials.ts'
import type { Anomaly } from '../protocol/anomaly.ts'
import type { SyncEvents } from './events.ts'

export interface ReporterOptions {
  /** Emits an event with the next commit. */
  readonly emit: <Name extends keyof SyncEvents>(name: Name, event: SyncEvents[Name]) => void
  readonly logger: Logger
  readonly credentials: Credentials
  /** The application's handler. It may return a new token. */
  readonly onUnauthenticated: (error: SyncError) => unknown
  /** Continues after a 401, with the token that the application returned, if any. */
  readonly resume: (token?: string) => void
}

/** Reports errors and anomalies to the log and as events, and runs the application's handler after a 401. */
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
    if (isSyncError(error, 'UnauthenticatedError')) void this.#refused(error)
    else if (!isSyncError(error, 'NetworkError')) this.error(error)
  }

  /**
   * Runs the application's handler once for each refused credential. If the handler throws, the next 401 runs it again.
   */
  async #refused(error: SyncError): Promise<void> {
    const { credentials, onUnauthenticated, resume } = this.#options
    if (!credentials.rejected(error)) return
    // The handler may read the status.
    await undefined
    try {
      const token = await onUnauthenticated(error)
      if (typeof token === 'string' && token !== '') resume(token)
    } catch (thrown) {
      this.error(toSyncError(thrown))
      credentials.forget()
      resume()
    }
  }
}
