import { type Check, check, refuseUnknown } from '../../base/check-options.ts'
import { resolveEnvironment } from '../../base/environment.default.ts'
import type { Clock } from '../../base/environment.ts'
import { loadJose } from './jose.ts'
import { dateOf } from './jwt.ts'
import { signingKey } from './jwt-keys.ts'
import { areOwners, ownersExpected } from './owners.ts'

export interface SignTokenOptions {
  /** The shared secret, at least 32 bytes. */
  readonly secret: string
  readonly userId: string
  readonly organizationId?: string
  /** The owners whose records the user sees: the claim `owners`. @default the user or the organization */
  readonly owners?: readonly string[]
  /** How long the token is valid, in ms. @default 604_800_000 (7 days) */
  readonly lifetimeMs?: number
  readonly clock?: Clock
}

/**
 * A lifetime in ms. With a negative one, the token has expired already. A `Date` cannot hold times beyond these limits.
 */
const isLifetime: Check = [
  (value) => typeof value === 'number' && Math.abs(value) < 1e15,
  'a number of ms below 10^15',
]

/**
 * Signs a token that {@link jwtAuthentication} with the same secret accepts: for a demo, a test, or a first sign-in.
 * Rejects with a ConfigurationError for an invalid option, such as a secret that is too short.
 */
export async function signToken(options: SignTokenOptions): Promise<string> {
  const {
    secret,
    userId,
    organizationId,
    owners,
    lifetimeMs = 7 * 86_400_000,
    clock = resolveEnvironment().clock,
  } = options
  refuseUnknown(options, { secret, userId, organizationId, owners, lifetimeMs, clock })
  check('lifetimeMs', lifetimeMs, isLifetime)
  if (owners !== undefined) check('owners', owners, [areOwners, ownersExpected])
  const now = clock.now()
  const { SignJWT } = await loadJose()
  // JSON leaves out a claim that is `undefined`.
  return new SignJWT({ org: organizationId, owners })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(userId)
    .setIssuedAt(dateOf(now))
    .setExpirationTime(dateOf(now + lifetimeMs))
    .sign(signingKey(secret))
}
