import { refuseUnknown } from '../../base/check-options.ts'
import { resolveEnvironment } from '../../base/environment.default.ts'
import type { Clock } from '../../base/environment.ts'
import { type Authenticate, type Caller, refuse, withExpiry } from './caller.ts'
import { checkMs } from './check-ms.ts'
import { bearerAuthentication } from './credentials.ts'
import { limitUnknownTokens } from './limit-unknown.ts'
import type { OAuthProfile, ProfileOf } from './oauth-provider.ts'

export interface OAuthOptions {
  /** How to ask the provider: {@link introspection} or {@link userinfo}. */
  readonly profileOf: ProfileOf
  /**
   * Resolves with the local user of `profile`, found by its subject or created. `null` refuses the token. For a new
   * user, two calls may run at once: they must create only one user.
   */
  readonly findOrCreate: (profile: OAuthProfile) => Promise<Caller | null>
  /**
   * How long a socket stays open if the provider does not say when its token expires, in ms. Then the socket is closed,
   * the client opens another, and the token is checked again. @default 3_600_000 (1 hour)
   */
  readonly recheckMs?: number
  readonly clock?: Clock
}

/**
 * Authenticates by an access token of an OAuth 2.0 provider. The provider is asked for each request, unless the caller
 * is {@link cached}. A refusal is cached for 10 s. If more than 30 tokens at once, and then 2 a second, turn out to be
 * invalid, the provider is not asked about tokens that it has never accepted, and their requests are answered with 503.
 * A token that comes again after such an answer is checked within a limit of its own, as high as the first.
 * Throws a ConfigurationError for an invalid option.
 */
export function oauthAuthentication(options: OAuthOptions): Authenticate {
  const { profileOf, findOrCreate, recheckMs = 3_600_000, clock = resolveEnvironment().clock } = options
  refuseUnknown(options, { profileOf, findOrCreate, recheckMs, clock })
  checkMs('recheckMs', recheckMs)
  const limited = limitUnknownTokens(profileOf, clock)
  return bearerAuthentication(async (token) => {
    const profile = await limited(token)
    if (!profile) return refuse('invalid_token')
    const now = clock.now()
    const { expiresAt = now + recheckMs } = profile
    if (expiresAt <= now) return refuse('token_expired')
    const caller = await findOrCreate(profile)
    return caller ? withExpiry(caller, expiresAt, now) : refuse('invalid_token')
  })
}
