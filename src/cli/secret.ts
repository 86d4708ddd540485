import { minSecretBytes } from '../server/auth/jwt-keys.ts'
import { UsageError } from './failure.ts'
import type { Shell } from './shell.ts'

/** What the environment alone may hold. */
export const secretVariables = ['INSTEP_JWT_SECRET', 'INSTEP_JWT_SECRET_PREVIOUS'] as const

export const secretNote =
  'INSTEP_JWT_SECRET, in the environment alone, is what tokens are signed with: 32 bytes or more. While it is\n' +
  'rotated, INSTEP_JWT_SECRET_PREVIOUS is the one before, which is still accepted.'

/** What tokens are signed with; behind it, what they were signed with before. Throws a UsageError where it is missing or too short. */
export function secretsIn(env: Shell['env']): readonly [string, ...string[]] {
  const secret = secretIn(env, 'INSTEP_JWT_SECRET')
  if (secret === undefined) {
    throw new UsageError(
      'INSTEP_JWT_SECRET is not set; tokens are signed with it, so give it 32 bytes or more.',
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
