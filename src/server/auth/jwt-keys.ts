import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose'
import { resolveEnvironment } from '../../base/environment.default.ts'
import type { Fetch } from '../../base/environment.ts'
import { ConfigurationError } from '../../base/errors.ts'
import { peer } from '../optional-peer.ts'

/** HS256 needs a key at least as long as its digest (RFC 7518, section 3.2). */
export const minSecretBytes = 32

const asymmetric = [
  ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const),
]

export type AsymmetricAlgorithm = (typeof asymmetric)[number]

/** Tokens that the application signs by itself, with HS256. */
export interface JwtSecret {
  /** What they are signed with, at least 32 bytes; while it is being rotated, the new and the old. */
  readonly secret: string | readonly string[]
  /** What `aud` must hold, where it is given. */
  readonly audience?: string
}

/** Tokens that a provider signs, and whose public keys it publishes. */
export interface JwtKeySet {
  /** The address of its JSON Web Key Set (RFC 7517, section 5), or the set itself. */
  readonly jwks: string | JSONWebKeySet
  /** What it signs with. Nothing else is taken, whatever a token says of itself. */
  readonly algorithms: readonly AsymmetricAlgorithm[]
  /** What `aud` must hold: a provider signs for others too. `null` where its tokens have none, and `caller` checks. */
  readonly audience: string | null
  /** How long keys are kept before they are fetched again, in ms. A key not seen before is fetched at once. @default 10 minutes */
  readonly cacheMs?: number
  /** How long fetching them may take, in ms. @default 5_000 */
  readonly timeoutMs?: number
  readonly fetch?: Fetch
}

/** With what a signature is checked. */
export interface VerificationKeys {
  readonly algorithms: readonly string[]
  load(): Promise<readonly VerificationKey[]>
}

export type VerificationKey = Uint8Array | JWTVerifyGetKey

/** Throws a ConfigurationError for what cannot check anything, or would check it carelessly. */
export function verificationKeys(options: JwtSecret | JwtKeySet): VerificationKeys {
  if ('secret' in options && 'jwks' in options) {
    throw new ConfigurationError('jwks', 'Tokens are checked with a `secret` or with `jwks`, not with both.')
  }
  if ('secret' in options) return secretKeys(options)
  if ('jwks' in options) return publicKeys(options)
  throw new ConfigurationError(
    'secret',
    'Tokens are checked with a `secret` or with `jwks`; give one of them.',
  )
}

/** The key that `secret` gives. Throws a ConfigurationError where it is too short to be one. */
export function signingKey(secret: string): Uint8Array {
  const key = new TextEncoder().encode(secret)
  if (key.length >= minSecretBytes) return key
  throw new ConfigurationError('secret', `A secret for tokens has at least ${minSecretBytes} bytes.`)
}

export function loadJose() {
  return peer('jose', () => import('jose'))
}

function secretKeys(options: JwtSecret): VerificationKeys {
  const keys = [options.secret].flat().map(signingKey)
  if (keys.length === 0) throw new ConfigurationError('secret', 'At least one secret is needed.')
  return {
    algorithms: ['HS256'],
    load: async () => keys,
  }
}

/** A symmetric algorithm would take the public key for a secret (RFC 8725, section 2.1). */
function publicKeys(options: JwtKeySet): VerificationKeys {
  const { jwks, algorithms, audience } = options
  if (!algorithms?.length || !algorithms.every((algorithm) => asymmetric.includes(algorithm))) {
    throw new ConfigurationError('algorithms', `\`algorithms\` lists some of ${asymmetric.join(', ')}.`)
  }
  if (audience === undefined) {
    throw new ConfigurationError(
      'audience',
      'With `jwks`, `audience` says for whom tokens are to be; or is `null`.',
    )
  }
  if (typeof jwks === 'string' ? !URL.canParse(jwks) : !Array.isArray(jwks?.keys)) {
    throw new ConfigurationError(
      'jwks',
      '`jwks` is the whole address of a JSON Web Key Set, or the set itself.',
    )
  }
  let set: Promise<JWTVerifyGetKey> | undefined
  return {
    algorithms,
    async load() {
      set ??= keySet(options)
      return [await set]
    },
  }
}

async function keySet({ jwks, cacheMs, timeoutMs, fetch }: JwtKeySet): Promise<JWTVerifyGetKey> {
  const { createLocalJWKSet, createRemoteJWKSet, customFetch } = await loadJose()
  if (typeof jwks !== 'string') return createLocalJWKSet(jwks)
  return createRemoteJWKSet(new URL(jwks), {
    cacheMaxAge: cacheMs ?? 600_000,
    timeoutDuration: timeoutMs ?? 5_000,
    [customFetch]: fetch ?? resolveEnvironment().fetch,
  })
}
