import { refuseUnknown } from '../../base/check-options.ts'
import { resolveEnvironment } from '../../base/environment.default.ts'
import type { Clock } from '../../base/environment.ts'
import { type Authenticate, type Caller, endingAt, refuse } from './caller.ts'
import { checkMs } from './check-ms.ts'
import { bearerAuthentication } from './credentials.ts'
import type { OAuthProfile, ProfileOf } from './oauth-provider.ts'

export interface OAuthOptions {
  /** How the provider is asked: {@link introspection} or {@link userinfo}. */
  readonly profileOf: ProfileOf
  /**
   * The local user of `profile`, found by its subject, or created; `null` refuses it. It may run twice at once for the
   * same new user, and is to create one.
   */
  readonly findOrCreate: (profile: OAuthProfile) => Promise<Caller | null>
  /**
   * How long a socket may go on with a token of which the provider does not say when it ends, in ms. It is closed
   * then; the client opens another, and the token is checked again. @default 1 hour
   */
  readonly recheckMs?: number
  readonly clock?: Clock
}

/**
 * Authenticates by an access token of an OAuth 2.0 provider's, which is asked each time; see {@link cached}. Throws a
 * ConfigurationError for a wrong option.
 */
export function oauthAuthentication(options: OAuthOptions): Authenticate {
  const { profileOf, findOrCreate, recheckMs = 3_600_000, clock = resolveEnvironment().clock } = options
  refuseUnknown(options, { profileOf, findOrCreate, recheckMs, clock })
  checkMs('recheckMs', recheckMs)
  return bearerAuthentication(async (token) => {
    const profile = await profileOf(token)
    if (!profile) return refuse('invalid_token')
    const now = clock.now()
    const { expiresAt = now + recheckMs } = profile
    if (expiresAt <= now) return refuse('token_expired')
    const caller = await findOrCreate(profile)
    return caller ? endingAt(caller, expiresAt, now) : refuse('invalid_token')
  })
}
