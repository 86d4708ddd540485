import { refuseUnknown } from '../../base/check-options.ts'
import { ConfigurationError, ProtocolError } from '../../base/errors.ts'
import { checkMs } from './check-ms.ts'
import { callProvider, expectOk, type JsonObject, type ProviderAddress } from './provider-call.ts'

/** A provider's information about an access token. */
export interface OAuthProfile {
  /** `sub`: the provider's id of the user. It never changes, and no other user ever gets it. */
  readonly subject: string
  /** All claims of the provider's response. */
  readonly claims: JsonObject
  /** When the token expires, in ms since the epoch, if the provider says so. */
  readonly expiresAt?: number
}

/**
 * Asks a provider about `token`. Resolves with `null` if the token is not valid, or not for this service. Rejects if
 * the provider does not answer as expected.
 */
export type ProfileOf = (token: string) => Promise<OAuthProfile | null>

export interface IntrospectionOptions extends ProviderAddress {
  readonly clientId: string
  readonly clientSecret: string
  /**
   * The required `aud` claim: a provider also issues tokens for other services. `null` if its tokens have none: tokens for
   * any audience are then accepted, and with some providers refresh tokens, too.
   */
  readonly audience: string | null
  /** A scope that the token must have. @default not checked */
  readonly scope?: string
}

/**
 * Asks a provider by token introspection (RFC 7662), as one of its clients. Throws a ConfigurationError for an invalid
 * option, such as a `url` that is not a full URL or a missing `audience`.
 */
export function introspection(options: IntrospectionOptions): ProfileOf {
  const { clientId, clientSecret, audience, scope, ...address } = options
  refuseUnknown(options, { clientId, clientSecret, audience, scope, ...addressOptions })
  checkAddress(address)
  if (audience === undefined) {
    throw new ConfigurationError(
      'audience',
      '`audience` is missing: set it to the `aud` that tokens must have, or to null to accept any.',
    )
  }
  const headers = {
    Authorization: `Basic ${Buffer.from(`${formText(clientId)}:${formText(clientSecret)}`).toString('base64')}`,
    'Content-Type': 'application/x-www-form-urlencoded',
    Accept: 'application/json',
  }
  return async (token) => {
    const body = new URLSearchParams({ token, token_type_hint: 'access_token' }).toString()
    const answer = await callProvider(address, { method: 'POST', headers, body })
    // Some providers answer so for a token of a kind that they do not look up (RFC 7009, section 2.2.1).
    if (answer.status === 400 && answer.body?.error === 'unsupported_token_type') return null
    const claims = expectOk(answer)
    if (typeof claims.active !== 'boolean') {
      throw new ProtocolError(
        'bad_envelope',
        'The token provider’s response does not say whether the token is active.',
      )
    }
    const isAccepted =
      claims.active &&
      isBearer(claims.token_type) &&
      (audience === null || [claims.aud].flat().includes(audience)) &&
      (scope === undefined || scopesOf(claims).includes(scope))
    return isAccepted ? profileOf(claims) : null
  }
}

/**
 * Asks a provider for the user's profile (OpenID Connect Core, section 5.3). The response says neither for whom the
 * token was issued nor when it expires: prefer {@link introspection} if the provider has it. Throws a
 * ConfigurationError for an invalid option, such as a `url` that is not a full URL.
 */
export function userinfo(options: ProviderAddress): ProfileOf {
  refuseUnknown(options, addressOptions)
  checkAddress(options)
  return async (token) => {
    const headers = { Authorization: `Bearer ${token}`, Accept: 'application/json' }
    const answer = await callProvider(options, { method: 'GET', headers })
    // The statuses for a token that is malformed, not valid, or lacks a scope (RFC 6750, section 3.1).
    if ([400, 401, 403].includes(answer.status)) return null
    const profile = profileOf(expectOk(answer))
    // Every profile has a `sub` (OpenID Connect Core, section 5.3.2). Without one, the response is an error page or the
    // like.
    if (!profile) throw new ProtocolError('bad_envelope', 'The token provider’s response has no `sub`.')
    return profile
  }
}

const addressOptions = {
  url: true,
  timeoutMs: true,
  fetch: true,
  clock: true,
} satisfies Record<keyof ProviderAddress, true>

function profileOf(claims: JsonObject): OAuthProfile | null {
  const { sub, exp } = claims
  if (typeof sub !== 'string' || sub === '') return null
  return { subject: sub, claims, ...(typeof exp === 'number' ? { expiresAt: exp * 1_000 } : undefined) }
}

/** Other token types need a proof that a bearer token does not carry (RFC 9449). Many providers name no type. */
function isBearer(type: unknown): boolean {
  return String(type ?? 'bearer').toLowerCase() === 'bearer'
}

/** Scopes arrive as one string (RFC 7662, section 2.2). */
function scopesOf({ scope }: JsonObject): readonly string[] {
  return typeof scope === 'string' ? scope.split(' ') : []
}

/** Credentials in a header are form-encoded first (RFC 6749, section 2.3.1). */
function formText(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1)
}

function checkAddress({ url, timeoutMs }: ProviderAddress): void {
  if (!URL.canParse(url))
    throw new ConfigurationError('url', '`url` must be the full URL of the provider’s endpoint.')
  if (timeoutMs !== undefined) checkMs('timeoutMs', timeoutMs)
}
