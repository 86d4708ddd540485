import { type SyncError, toSyncError } from '../base/errors.ts'
import type { Credentials } from '../transport/credentials.ts'

export interface RefusalOptions {
  readonly credentials: Credentials
  /** The application's; it may give a new token. */
  readonly onUnauthenticated: (error: SyncError) => unknown
  readonly resume: (token: string) => void
  readonly onError: (error: SyncError) => void
}

/** Runs the application's handler once for each credential that was refused, and goes on with the token that it gives. */
export async function handleRefusal(error: SyncError, options: RefusalOptions): Promise<void> {
  const { credentials, onUnauthenticated, resume, onError } = options
  if (!credentials.rejected(error)) return
  try {
    const token = await onUnauthenticated(error)
    if (typeof token === 'string' && token !== '') resume(token)
  } catch (thrown) {
    onError(toSyncError(thrown))
  }
}
