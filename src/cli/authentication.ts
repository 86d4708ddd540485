import { toError } from '../base/errors.ts'
import { cached } from '../server/auth/cached.ts'
import type { Authenticate } from '../server/auth/caller.ts'
import { type JwtOptions, jwtAuthentication } from '../server/auth/jwt.ts'
import { type AsymmetricAlgorithm, loadJose } from '../server/auth/jwt-keys.ts'
import { UsageError } from './failure.ts'
import { secretsIn } from './secret.ts'
import type { Settings } from './settings.ts'
import type { Shell } from './shell.ts'

/** What an issuer's tokens are checked by, and for whom they are. */
export const authenticationOptions = {
  jwks: {
    about: 'The address of a JSON Web Key Set, whose keys sign the tokens in place of INSTEP_JWT_SECRET',
    value: 'url',
  },
  algorithms: { about: 'With which of its keys, between commas (RS256,ES256)', value: 'names' },
  audience: { about: 'What `aud` is to hold: needed with --jwks, where `any` checks nothing', value: 'name' },
  issuer: { about: 'What `iss` is to be (any)', value: 'name' },
}

/**
 * Rejects with a UsageError where the settings and the environment give no way to check a token, or two; and where the
 * package is missing without which every request would fail.
 */
export async function authenticationIn(settings: Settings, env: Shell['env']): Promise<Authenticate> {
  const authenticate = authenticationBy(settings, env)
  await loadJose()
  return authenticate
}

function authenticationBy(settings: Settings, env: Shell['env']): Authenticate {
  const issuer = settings.text('issuer')
  const options = { ...keysIn(settings, env), ...(issuer !== undefined && { issuer }) }
  try {
    return cached(jwtAuthentication(options))
  } catch (error) {
    throw new UsageError(toError(error).message)
  }
}

function keysIn(settings: Settings, env: Shell['env']): JwtOptions {
  const jwks = settings.text('jwks')
  const named = settings.list('algorithms')
  if (jwks === undefined) {
    if (named) throw new UsageError('`--algorithms` goes with `--jwks`, which is missing.')
    const audience = settings.text('audience')
    return { secret: secretsIn(env), ...(audience !== undefined && { audience }) }
  }
  if (env.INSTEP_JWT_SECRET) {
    throw new UsageError('Tokens are checked with `--jwks` or with INSTEP_JWT_SECRET; leave out one of them.')
  }
  const audience = settings.required('audience', 'whom the tokens are for, or `any`')
  // Whatever is no algorithm is refused with the rest.
  const algorithms = (named ?? ['RS256', 'ES256']) as readonly AsymmetricAlgorithm[]
  return { jwks, algorithms, audience: audience === 'any' ? null : audience }
}
