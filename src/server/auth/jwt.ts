import type { JWTPayload, JWTVerifyOptions } from 'jose'
import { type Check, check, refuseUnknown } from '../../base/check-options.ts'
import { resolveEnvironment } from '../../base/environment.default.ts'
import type { Clock } from '../../base/environment.ts'
import { ConfigurationError } from '../../base/errors.ts'
import { type Authenticate, type Caller, refuse, withExpiry } from './caller.ts'
import { checkMs } from './check-ms.ts'
import { bearerAuthentication } from './credentials.ts'
import { loadJose } from './jose.ts'
import { type JwtKeySet, type JwtSecret, type VerificationKey, verificationKeys } from './jwt-keys.ts'
import { areOwners, ownersExpected } from './owners.ts'

/** The default of `maxLifetimeMs`: 30 days. */
export const defaultMaxLifetimeMs = 30 * 86_400_000

export interface JwtRules {
  /**
   * Returns the caller that the claims name; `null` refuses the token. @default `sub` is the user's id, `org` the
   * organization's
   */
  readonly caller?: (claims: JWTPayload) => Caller | null | Promise<Caller | null>
  /**
   * The source of the caller's `owners`: the name of a claim, or a function of the claims. The value must be an array
   * of texts. Without them, the caller is as `caller` returns it. @default the claim `owners`; none if `caller` is set
   */
  readonly owners?: string | ((claims: JWTPayload) => unknown)
  /** The required `iss` claim. @default not checked */
  readonly issuer?: string
  /** The maximum lifetime of a token, in ms. @default 30 days */
  readonly maxLifetimeMs?: number
  readonly clock?: Clock
}

export type JwtOptions = JwtRules & (JwtSecret | JwtKeySet)

const known = {
  caller: true,
  owners: true,
  issuer: true,
  maxLifetimeMs: true,
  clock: true,
  secret: true,
  jwks: true,
  algorithms: true,
  audience: true,
  cacheMs: true,
  timeoutMs: true,
  fetch: true,
} satisfies Record<keyof JwtRules | keyof JwtSecret | keyof JwtKeySet, true>

/**
 * Authenticates by a JSON Web Token (RFC 7519, RFC 8725). The token is signed with HS256 and a shared secret, or with a
 * provider's key and one of `algorithms`. A token without `exp` is refused, and so is a token whose lifetime is too
 * long. Throws a ConfigurationError for an invalid option, such as a secret that is too short.
 */
export function jwtAuthentication(options: JwtOptions): Authenticate {
  const {
    caller = callerOf,
    owners = options.caller ? () => undefined : 'owners',
    maxLifetimeMs = defaultMaxLifetimeMs,
    clock = resolveEnvironment().clock,
    issuer,
  } = options
  refuseUnknown(options, known)
  check('owners', owners, isWhere)
  const audience = options.audience ?? undefined
  for (const [option, name] of Object.entries({ issuer, audience })) {
    // An empty string can come from an unset environment variable. Some versions of `jose` check nothing then.
    if (name === '')
      throw new ConfigurationError(option, `\`${option}\` is empty. Set a value, or leave it out.`)
  }
  // No lifetime is above NaN, so the limit must be a number.
  checkMs('maxLifetimeMs', maxLifetimeMs)
  const keys = verificationKeys(options, clock)
  const rules: JWTVerifyOptions = {
    algorithms: [...keys.algorithms],
    requiredClaims: ['exp'],
    ...(issuer === undefined ? undefined : { issuer }),
    ...(audience === undefined ? undefined : { audience }),
  }
  return bearerAuthentication(async (token) => {
    const { errors } = await loadJose()
    const now = clock.now()
    let claims: JWTPayload
    try {
      claims = await verify(token, await keys.load(), { ...rules, currentDate: dateOf(now) })
    } catch (error) {
      if (error instanceof errors.JWTExpired) return refuse('token_expired')
      // If the key set itself is invalid, the token may be valid.
      const isKeyFailure = error instanceof errors.JWKSInvalid
      if (error instanceof errors.JOSEError && !isKeyFailure) return refuse('invalid_token')
      throw error
    }
    const expiresAt = (claims.exp ?? 0) * 1_000
    // Otherwise, a token with an `iat` in the future could be valid for longer than `maxLifetimeMs`.
    const issuedAt = claims.iat === undefined ? now : Math.min(claims.iat * 1_000, now)
    if (expiresAt - issuedAt > maxLifetimeMs) return refuse('invalid_token')
    const named = await caller(claims)
    if (!named) return refuse('invalid_token')
    const own = await (typeof owners === 'string' ? claims[owners] : owners(claims))
    if (own === undefined) return withExpiry(named, expiresAt, now)
    if (areOwners(own)) return withExpiry({ ...named, owners: own }, expiresAt, now)
    const claim = typeof owners === 'string' ? `claim \`${owners}\`` : '`owners`'
    return refuse('invalid_token', `The ${claim} of the token must be ${ownersExpected}.`)
  })
}

const isWhere: Check = [
  (value) => typeof value === 'function' || (typeof value === 'string' && value !== ''),
  'the name of a claim or a function',
]

/** A time as a `Date`, which `jose` needs. */
export function dateOf(ms: number) {
  // biome-ignore lint/style/noRestrictedGlobals: the time is the clock's; this only wraps it.
  return new Date(ms)
}

/** The claims of a token that is signed with one of `keys`. */
async function verify(
  token: string,
  keys: Iterable<VerificationKey> | AsyncIterable<CryptoKey>,
  rules: JWTVerifyOptions,
): Promise<JWTPayload> {
  const { errors, jwtVerify } = await loadJose()
  let failure: unknown = new errors.JWKSNoMatchingKey()
  for await (const key of keys) {
    try {
      const verified = typeof key === 'function' ? jwtVerify(token, key, rules) : jwtVerify(token, key, rules)
      return (await verified).payload
    } catch (error) {
      // Several keys of a set fit, as for a token without a key id. The error iterates over them: try each.
      if (error instanceof errors.JWKSMultipleMatchingKeys) return verify(token, error, rules)
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error
      failure = error
    }
  }
  throw failure
}

function callerOf({ sub, org }: JWTPayload): Caller | null {
  if (typeof sub !== 'string' || sub === '') return null
  return { userId: sub, organizationId: typeof org === 'string' ? org : undefined }
}
