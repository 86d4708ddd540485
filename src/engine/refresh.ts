import type { Environment } from '../base/environment.ts'
import { type SyncError, toSyncError } from '../base/errors.ts'
import type { Credentials } from '../network/credentials.ts'
import type { LeaderLock } from '../tabs/leadership.ts'
import { oneAtATime } from '../tabs/one-at-a-time.ts'

export interface RefreshOptions {
  readonly environment: Pick<Environment, 'clock'>
  readonly credentials: Credentials
  /** The lock that all clients of the database share; `undefined` without shared locks. */
  readonly lock: LeaderLock | undefined
  /** The application's handler. It may return a new token. */
  readonly onUnauthenticated: ((error: SyncError) => unknown) | undefined
  /** Continues after a 401, with the token that the application returned, if any. */
  readonly resume: (token?: string) => void
  readonly onError: (error: SyncError) => void
  /** `isRunning` has changed. */
  readonly onChange: () => void
}

/**
 * Runs the application's `onUnauthenticated` after a 401, in one tab at a time, since a refresh token may work only
 * once.
 */
export class Refresh {
  readonly #options: RefreshOptions
  /** The error that is being handled. */
  #error: SyncError | undefined

  constructor(options: RefreshOptions) {
    this.#options = options
  }

  /** Whether the handler is running, in this tab or in another one that this tab waits for. */
  get isRunning(): boolean {
    return this.#error !== undefined
  }

  /**
   * Runs the handler, once for each refused credential. If the handler throws, the next 401 runs it again. If another
   * tab is running its handler, waits until that has ended: the next request shows whether the credentials are valid
   * again.
   */
  async run(error: SyncError): Promise<void> {
    const { environment, credentials, lock, onUnauthenticated, resume, onError, onChange } = this.#options
    if (!credentials.rejected(error) || !onUnauthenticated) return
    this.#error = error
    // The handler may read the status.
    await undefined
    const refresh = async () => {
      const token = await onUnauthenticated(error)
      if (typeof token === 'string' && token !== '') resume(token)
    }
    const tryAgain = () => {
      credentials.forget()
      resume()
    }
    try {
      if (!lock) await refresh()
      else if (!(await oneAtATime({ ...lock, name: `${lock.name}:refresh` }, environment.clock, refresh)))
        tryAgain()
    } catch (thrown) {
      onError(toSyncError(thrown))
      tryAgain()
    }
    if (this.#error !== error) return
    this.#error = undefined
    onChange()
  }
}
