import type { Clock } from '../../base/environment.ts'
import { toError } from '../../base/errors.ts'
import type { Logger } from '../../base/logger.ts'
import {
  type Authenticate,
  type Caller,
  ownersOf,
  type Refusal,
  type RefusalCode,
  readAuthenticateResult,
} from '../auth/caller.ts'
import { ChecksPaused } from '../auth/checks-paused.ts'
import { hasCredentials, withoutCredentials } from '../auth/credentials.ts'
import { withTimeLimit } from '../auth/time-limit.ts'
import { Failure, unavailable } from './failure.ts'

/** The caller, and the owners of the data that the caller sees. */
export interface Identity {
  readonly caller: Caller
  /** The owners, each once. The first one owns the records that the caller inserts without naming an owner. */
  readonly owners: readonly string[]
}

export interface IdentifyOptions {
  readonly authenticate: Authenticate
  readonly ownerField: string
  readonly clock: Clock
  readonly logger: Logger
}

const messages: Record<RefusalCode, string> = {
  no_token: 'No token was provided.',
  token_expired: 'The token has expired.',
  invalid_token: 'The token is not valid.',
}

/**
 * Identifies the caller of `request`. Throws a {@link Failure} if there are no valid credentials, or if they cannot be
 * checked now.
 */
export async function identify(request: Request, options: IdentifyOptions): Promise<Identity> {
  const { ownerField, clock, logger } = options
  const path = new URL(request.url).pathname
  let result: Caller | Refusal | null
  try {
    result = readAuthenticateResult(await withTimeLimit(options.authenticate(request), clock), clock.now())
  } catch (error) {
    const reason = withoutCredentials(toError(error).message, request)
    const isPaused = error instanceof ChecksPaused
    // Anybody can cause a pause by sending invalid credentials, so it is only a warning.
    logger[isPaused ? 'warn' : 'error']('Credentials cannot be checked.', { path, reason })
    const seconds = isPaused ? Math.ceil(error.retryAfterMs / 1_000) : 5
    throw unavailable('Credentials cannot be checked at the moment.', seconds)
  }
  if (result === null || 'refused' in result) {
    const code = result?.refused ?? (hasCredentials(request) ? 'invalid_token' : 'no_token')
    logger.warn('Authentication failed.', { path, code })
    throw new Failure(401, code, result?.message ?? messages[code], { 'WWW-Authenticate': 'Bearer' })
  }
  const owners = ownersOf(result, ownerField)
  if (owners) return { caller: result, owners }
  const missing = ownerField === 'userId' || ownerField === 'organizationId' ? ownerField : 'owners'
  throw new Failure(
    403,
    'forbidden',
    `The credentials have no \`${missing}\`, which names the owner of the data.`,
  )
}
