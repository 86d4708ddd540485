import { refuseUnknown } from '../../base/check-options.ts'
import { ConfigurationError, ProtocolError } from '../../base/errors.ts'
import { callProvider, expectOk, type JsonObject, type ProviderAddress } from './provider-call.ts'

/** Whom a provider says an access token is for. */
export interface OAuthProfile {
  /** `sub`: the provider's own name for the user, which never changes and is never given to another. */
  readonly subject: string
  /** All that the provider says. */
  readonly claims: JsonObject
  /** When the token ends, in ms since the epoch, where the provider says so. */
  readonly expiresAt?: number
}

/**
 * Asks a provider for whom `token` is; `null` where it is not in force, or not for this service. Rejects where the
 * provider gives no proper answer.
 */
export type ProfileOf = (token: string) => Promise<OAuthProfile | null>

export interface IntrospectionOptions extends ProviderAddress {
  readonly clientId: string
  readonly clientSecret: string
  /** What `aud` must hold: a provider has tokens for others too. `null` where its tokens have none. */
  readonly audience: string | null
  /** What `scope` must hold, where it is given. */
  readonly scope?: string
}

/**
 * Asks by token introspection (RFC 7662), as a client of the provider's. Throws a ConfigurationError for a wrong option,
 * as for a `url` that is no whole address, and where `audience` is missing.
 */
export function introspection(options: IntrospectionOptions): ProfileOf {
  const { clientId, clientSecret, audience, scope, ...address } = options
  refuseUnknown(options, { clientId, clientSecret, audience, scope, ...addressOptions })
  checkAddress(address)
  if (audience === undefined) {
    throw new ConfigurationError('audience', '`audience` says for whom tokens are to be; or is `null`.')
  }
  const headers = {
    Authorization: `Basic ${Buffer.from(`${formText(clientId)}:${formText(clientSecret)}`).toString('base64')}`,
    'Content-Type': 'application/x-www-form-urlencoded',
    Accept: 'application/json',
  }
  return async (token) => {
    const body = new URLSearchParams({ token, token_type_hint: 'access_token' }).toString()
    const answer = await callProvider(address, { method: 'POST', headers, body })
    // Some tell so that it is none of those that they look up (RFC 7009, section 2.2.1).
    if (answer.status === 400 && answer.body?.error === 'unsupported_token_type') return null
    const claims = expectOk(answer)
    if (typeof claims.active !== 'boolean') {
      throw new ProtocolError(
        'bad_envelope',
        'The provider of tokens answered without saying whether one is active.',
      )
    }
    const isMeant =
      claims.active &&
      isBearer(claims.token_type) &&
      (audience === null || [claims.aud].flat().includes(audience)) &&
      (scope === undefined || scopesOf(claims).includes(scope))
    return isMeant ? profileOf(claims) : null
  }
}

/**
 * Asks for the user's profile (OpenID Connect Core, section 5.3). The answer tells neither for whom a token was made
 * nor when it ends: where the provider has introspection, take that. Throws a ConfigurationError for a wrong option, as
 * for a `url` that is no whole address.
 */
export function userinfo(options: ProviderAddress): ProfileOf {
  refuseUnknown(options, addressOptions)
  checkAddress(options)
  return async (token) => {
    const headers = { Authorization: `Bearer ${token}`, Accept: 'application/json' }
    const answer = await callProvider(options, { method: 'GET', headers })
    // What RFC 6750, section 3.1, has for a token that is malformed, not in force, or for less than this.
    if ([400, 401, 403].includes(answer.status)) return null
    const profile = profileOf(expectOk(answer))
    // Each has one (OpenID Connect Core, section 5.3.2): this is a page of an error, or of something else.
    if (!profile) throw new ProtocolError('bad_envelope', 'The provider of tokens answered without a `sub`.')
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

/** A token of another type wants a proof that a bearer does not give (RFC 9449). Many providers name no type. */
function isBearer(type: unknown): boolean {
  return String(type ?? 'bearer').toLowerCase() === 'bearer'
}

/** Scopes come as one text (RFC 7662, section 2.2). */
function scopesOf({ scope }: JsonObject): readonly string[] {
  return typeof scope === 'string' ? scope.split(' ') : []
}

/** Credentials in a header are form-encoded first (RFC 6749, section 2.3.1). */
function formText(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1)
}

function checkAddress({ url }: ProviderAddress): void {
  if (!URL.canParse(url))
    throw new ConfigurationError('url', '`url` is the whole address of the provider’s endpoint.')
}
