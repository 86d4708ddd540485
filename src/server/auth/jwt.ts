import type { JWTPayload, JWTVerifyOptions } from 'jose'
import { refuseUnknown } from '../../base/check-options.ts'
import { resolveEnvironment } from '../../base/environment.default.ts'
import type { Clock } from '../../base/environment.ts'
import { ConfigurationError } from '../../base/errors.ts'
import { type Authenticate, type Caller, endingAt, refuse } from './caller.ts'
import { checkMs } from './check-ms.ts'
import { bearerAuthentication } from './credentials.ts'
import {
  type JwtKeySet,
  type JwtSecret,
  loadJose,
  type VerificationKey,
  verificationKeys,
} from './jwt-keys.ts'

/** The longest life of a token where nothing else is said, in ms: 30 days. */
export const defaultMaxLifetimeMs = 30 * 86_400_000

/** What has failed with one of these says nothing about the token: the keys could not be had. */
const unknowable = ['ERR_JOSE_GENERIC', 'ERR_JWKS_INVALID', 'ERR_JWKS_TIMEOUT']

export interface JwtRules {
  /** Whom the claims name; `null` refuses them. @default `sub` is the user's id, and `org` the organization's */
  readonly caller?: (claims: JWTPayload) => Caller | null | Promise<Caller | null>
  /** What `iss` must say, where it is given. */
  readonly issuer?: string
  /** The longest life of a token, in ms. @default 30 days */
  readonly maxLifetimeMs?: number
  readonly clock?: Clock
}

export type JwtOptions = JwtRules & (JwtSecret | JwtKeySet)

const known = {
  caller: true,
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
 * Authenticates by a JSON Web Token (RFC 7519, RFC 8725): signed with HS256 and a shared secret, or with a provider's
 * key and one of the algorithms that are listed. A token without `exp` is refused, and so is one that lives too long.
 * Throws a ConfigurationError for a wrong option, as for a secret that is too short.
 */
export function jwtAuthentication(options: JwtOptions): Authenticate {
  const {
    caller = callerOf,
    maxLifetimeMs = defaultMaxLifetimeMs,
    clock = resolveEnvironment().clock,
    issuer,
  } = options
  refuseUnknown(options, known)
  const audience = options.audience ?? undefined
  for (const [option, name] of Object.entries({ issuer, audience })) {
    // As from a variable that is not set; some versions of `jose` would check nothing then.
    if (name === '')
      throw new ConfigurationError(option, `\`${option}\` is empty; name one, or leave it out.`)
  }
  // No life is longer than what is no number.
  checkMs('maxLifetimeMs', maxLifetimeMs)
  const keys = verificationKeys(options)
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
      if (error instanceof errors.JOSEError && !unknowable.includes(error.code))
        return refuse('invalid_token')
      throw error
    }
    const expiresAt = (claims.exp ?? 0) * 1_000
    // One that says it was issued in the future would live for as long again.
    const issuedAt = claims.iat === undefined ? now : Math.min(claims.iat * 1_000, now)
    if (expiresAt - issuedAt > maxLifetimeMs) return refuse('invalid_token')
    const named = await caller(claims)
    return named ? endingAt(named, expiresAt, now) : refuse('invalid_token')
  })
}

/** A moment as `jose` wants it. */
export function dateOf(ms: number) {
  // biome-ignore lint/style/noRestrictedGlobals: the time is the clock's; this only wraps it.
  return new Date(ms)
}

/** The claims of a token that one of `keys` has signed. */
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
      // A set in which several keys fit, as where a token names none, hands them over.
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
