import type { JWTPayload, JWTVerifyOptions } from 'jose'
import { ConfigurationError } from '../../base/errors.ts'
import { resolveWorld } from '../../base/world.default.ts'
import type { Clock } from '../../base/world.ts'
import { peer } from '../peer.ts'
import type { Authenticate, Caller, Refusal } from './caller.ts'
import { bearerToken } from './credentials.ts'

const aDay = 86_400_000

/** HS256 needs a key at least as long as its digest (RFC 7518, section 3.2). */
const leastSecretBytes = 32

export interface JwtOptions {
  /** The secret that tokens are signed with, of at least 32 bytes; while it is being rotated, the new and the old. */
  readonly secret: string | readonly string[]
  /** Whom the claims name; `null` refuses them. @default `sub` is the user's id, and `org` the organization's */
  readonly caller?: (claims: JWTPayload) => Caller | null
  /** What `iss` must say, where it is given. */
  readonly issuer?: string
  /** What `aud` must hold, where it is given. */
  readonly audience?: string
  /** The longest life of a token, in ms. @default 30 days */
  readonly maxLifetimeMs?: number
  readonly clock?: Clock
}

/**
 * Authenticates by a JSON Web Token signed with HS256 and no other algorithm (RFC 7519, RFC 8725). A token without
 * `exp` is refused, and so is one that lives too long. Throws a ConfigurationError for a secret that is too short.
 */
export function jwtAuthentication(options: JwtOptions): Authenticate {
  const {
    caller = callerOf,
    maxLifetimeMs = 30 * aDay,
    clock = resolveWorld().clock,
    issuer,
    audience,
  } = options
  const keys = [options.secret].flat().map(signingKey)
  const rules: JWTVerifyOptions = {
    algorithms: ['HS256'],
    requiredClaims: ['exp'],
    ...(issuer === undefined ? undefined : { issuer }),
    ...(audience === undefined ? undefined : { audience }),
  }
  return async (request) => {
    const token = bearerToken(request)
    if (token === undefined)
      return refuse(request.headers.has('Authorization') ? 'invalid_token' : 'no_token')
    const { errors } = await loadJose()
    try {
      const now = clock.now()
      const claims = await verify(token, keys, { ...rules, currentDate: dateOf(now) })
      const expiresAt = (claims.exp ?? 0) * 1_000
      const issuedAt = claims.iat === undefined ? now : claims.iat * 1_000
      if (expiresAt - issuedAt > maxLifetimeMs) return refuse('invalid_token')
      const named = caller(claims)
      return named ? { expiresAt, ...named } : refuse('invalid_token')
    } catch (error) {
      if (error instanceof errors.JWTExpired) return refuse('token_expired')
      if (error instanceof errors.JOSEError) return refuse('invalid_token')
      throw error
    }
  }
}

/** The key that `secret` gives. Throws a ConfigurationError where it is too short to be one. */
export function signingKey(secret: string): Uint8Array {
  const key = new TextEncoder().encode(secret)
  if (key.length >= leastSecretBytes) return key
  throw new ConfigurationError('secret', `A secret for tokens has at least ${leastSecretBytes} bytes.`)
}

export function loadJose() {
  return peer('jose', () => import('jose'))
}

/** A moment as `jose` wants it. */
export function dateOf(ms: number) {
  // biome-ignore lint/style/noRestrictedGlobals: the time is the clock's; this only wraps it.
  return new Date(ms)
}

/** The claims of a token that one of `keys` has signed. */
async function verify(
  token: string,
  keys: readonly Uint8Array[],
  rules: JWTVerifyOptions,
): Promise<JWTPayload> {
  const { errors, jwtVerify } = await loadJose()
  let failure: unknown
  for (const key of keys) {
    try {
      return (await jwtVerify(token, key, rules)).payload
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error
      failure = error
    }
  }
  throw failure
}

function callerOf({ sub, org }: JWTPayload): Caller | null {
  return sub ? { userId: sub, organizationId: typeof org === 'string' ? org : undefined } : null
}

function refuse(refused: Refusal['refused']): Refusal {
  return { refused }
}
