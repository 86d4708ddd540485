import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose'
import type { Clock, Fetch } from '../../base/environment.ts'
import { ConfigurationError } from '../../base/errors.ts'
import { checkMs } from './check-ms.ts'
import { loadJose } from './jose.ts'
import { RemoteKeys } from './remote-keys.ts'

/** HS256 needs a key at least as long as its digest (RFC 7518, section 3.2). */
export const minSecretBytes = 32

const asymmetric = [
  ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const),
]

export type AsymmetricAlgorithm = (typeof asymmetric)[number]

/** Tokens that the application signs itself, with HS256. */
export interface JwtSecret {
  /** The secret, at least 32 bytes. During a rotation, the new and the old secret. */
  readonly secret: string | readonly string[]
  /** The required `aud` claim. @default not checked */
  readonly audience?: string
}

/** Tokens that a provider signs. The provider publishes its public keys. */
export interface JwtKeySet {
  /** The URL of the provider's JSON Web Key Set (RFC 7517, section 5), or the set itself. */
  readonly jwks: string | JSONWebKeySet
  /** The accepted algorithms. The algorithm that a token names must be one of them. */
  readonly algorithms: readonly AsymmetricAlgorithm[]
  /**
   * The required `aud` claim: a provider also signs tokens for other services. `null` if its tokens have none; then
   * `caller` must check that a token is for this service.
   */
  readonly audience: string | null
  /**
   * How long fetched keys are used, in ms. A key that the provider has withdrawn is accepted for as long. If the
   * provider cannot be reached for that time, requests are answered with 503. An unknown key causes a fetch, at most
   * every 5 s; sooner than that, a token with it is answered with 503, and not refused. @default 60_000
   */
  readonly cacheMs?: number
  /** The time limit for fetching keys, in ms. @default 5_000 */
  readonly timeoutMs?: number
  readonly fetch?: Fetch
}

/** The keys and algorithms that check a signature. */
export interface VerificationKeys {
  readonly algorithms: readonly string[]
  load(): Promise<readonly VerificationKey[]>
}

export type VerificationKey = Uint8Array | JWTVerifyGetKey

/**
 * Returns the keys for checking tokens. Throws a ConfigurationError for options that cannot check tokens, or not
 * safely.
 */
export function verificationKeys(options: JwtSecret | JwtKeySet, clock: Clock): VerificationKeys {
  if ('secret' in options && 'jwks' in options) {
    throw new ConfigurationError('jwks', 'Set either `secret` or `jwks`, not both.')
  }
  if ('secret' in options) return secretKeys(options)
  if ('jwks' in options) return publicKeys(options, clock)
  throw new ConfigurationError('secret', 'Set `secret` or `jwks` to check tokens.')
}

/** The key for `secret`. Throws a ConfigurationError if the secret is too short. */
export function signingKey(secret: string): Uint8Array {
  const key = new TextEncoder().encode(secret)
  if (key.length >= minSecretBytes) return key
  const problem = key.length === 0 ? 'is not set' : 'is too short'
  const remedy = `it must have at least ${minSecretBytes} bytes, such as those that \`openssl rand -hex 32\` prints.`
  throw new ConfigurationError('secret', `\`secret\` ${problem}; ${remedy}`)
}

function secretKeys(options: JwtSecret): VerificationKeys {
  const keys = [options.secret].flat().map(signingKey)
  if (keys.length === 0) throw new ConfigurationError('secret', '`secret` must have at least one entry.')
  return {
    algorithms: ['HS256'],
    load: async () => keys,
  }
}

/**
 * Only asymmetric algorithms are allowed: a symmetric one would use the public key as its secret (RFC 8725, section
 * 2.1).
 */
function publicKeys(options: JwtKeySet, clock: Clock): VerificationKeys {
  const { jwks, algorithms, audience, cacheMs = 60_000, timeoutMs = 5_000, fetch } = options
  checkMs('cacheMs', cacheMs)
  checkMs('timeoutMs', timeoutMs)
  if (!algorithms?.length || !algorithms.every((algorithm) => asymmetric.includes(algorithm))) {
    throw new ConfigurationError(
      'algorithms',
      `\`algorithms\` must list at least one of ${asymmetric.join(', ')}.`,
    )
  }
  if (audience === undefined) {
    throw new ConfigurationError(
      'audience',
      'With `jwks`, `audience` must be the required `aud` claim, or `null`.',
    )
  }
  if (typeof jwks === 'string' ? !URL.canParse(jwks) : !Array.isArray(jwks?.keys)) {
    throw new ConfigurationError(
      'jwks',
      '`jwks` must be the full URL of a JSON Web Key Set, or the set itself.',
    )
  }
  if (typeof jwks !== 'string') {
    return { algorithms, load: async () => [(await loadJose()).createLocalJWKSet(jwks)] }
  }
  const keys = new RemoteKeys({ url: jwks, cacheMs, timeoutMs, clock, ...(fetch && { fetch }) })
  return { algorithms, load: async () => [keys.find] }
}
