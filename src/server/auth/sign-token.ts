import { refuseUnknown } from '../../base/check-options.ts'
import { resolveEnvironment } from '../../base/environment.default.ts'
import type { Clock } from '../../base/environment.ts'
import { dateOf } from './jwt.ts'
import { loadJose, signingKey } from './jwt-keys.ts'

export interface SignTokenOptions {
  /** At least 32 bytes. */
  readonly secret: string
  readonly userId: string
  readonly organizationId?: string
  /** How long it holds, in ms. @default 7 days */
  readonly lifetimeMs?: number
  readonly clock?: Clock
}

/**
 * A token that {@link jwtAuthentication} with the same secret accepts: for a demo, a test, or a first sign-in. Rejects
 * with a ConfigurationError for a wrong option, as for a secret that is too short.
 */
export async function signToken(options: SignTokenOptions): Promise<string> {
  const {
    secret,
    userId,
    organizationId,
    lifetimeMs = 7 * 86_400_000,
    clock = resolveEnvironment().clock,
  } = options
  refuseUnknown(options, { secret, userId, organizationId, lifetimeMs, clock })
  const now = clock.now()
  const { SignJWT } = await loadJose()
  return new SignJWT(organizationId === undefined ? {} : { org: organizationId })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(userId)
    .setIssuedAt(dateOf(now))
    .setExpirationTime(dateOf(now + lifetimeMs))
    .sign(signingKey(secret))
}
