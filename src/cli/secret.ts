import { minSecretBytes } from '../server/auth/jwt-keys.ts'
import { UsageError } from './failure.ts'
import type { Shell } from './shell.ts'

/** The settings that only the environment may hold. */
export const secretVariables = ['INSTEP_JWT_SECRET', 'INSTEP_JWT_SECRET_PREVIOUS'] as const

export const secretNote =
  'INSTEP_JWT_SECRET, only in the environment, is the secret that signs tokens: 32 bytes or more. During a\n' +
  'rotation, tokens signed with INSTEP_JWT_SECRET_PREVIOUS are accepted as well.'

/**
 * The secret that signs tokens, followed by the previous one if it is set. Throws a UsageError for a missing or short
 * secret.
 */
export function secretsIn(env: Shell['env']): readonly [string, ...string[]] {
  const secret = secretIn(env, 'INSTEP_JWT_SECRET')
  if (secret === undefined) {
    throw new UsageError(
      'INSTEP_JWT_SECRET is not set; set it to a secret of 32 bytes or more, which signs tokens.',
    )
  }
  const previous = secretIn(env, 'INSTEP_JWT_SECRET_PREVIOUS')
  return previous === undefined ? [secret] : [secret, previous]
}

function secretIn(env: Shell['env'], variable: string): string | undefined {
  const secret = env[variable]
  if (!secret) return undefined
  if (new TextEncoder().encode(secret).length >= minSecretBytes) return secret
  throw new UsageError(`${variable} is too short; it needs ${minSecretBytes} bytes or more.`)
}
