import { toError } from '../base/errors.ts'
import { cached } from '../server/auth/cached.ts'
import type { Authenticate } from '../server/auth/caller.ts'
import { loadJose } from '../server/auth/jose.ts'
import { type JwtOptions, jwtAuthentication } from '../server/auth/jwt.ts'
import type { AsymmetricAlgorithm } from '../server/auth/jwt-keys.ts'
import { UsageError } from './failure.ts'
import { secretsIn } from './secret.ts'
import type { Settings } from './settings.ts'
import type { Shell } from './shell.ts'

/** The options that say how tokens are checked. */
export const authenticationOptions = {
  jwks: {
    about: 'The URL of a JSON Web Key Set that checks tokens, instead of INSTEP_JWT_SECRET',
    value: 'url',
  },
  algorithms: { about: 'The accepted algorithms, separated by commas (RS256,ES256)', value: 'names' },
  audience: {
    about: 'The required `aud` of tokens; needed with --jwks, where `any` accepts all',
    value: 'name',
  },
  issuer: { about: 'The required `iss` of tokens (any)', value: 'name' },
}

/**
 * Returns the authentication that the settings and the environment describe. Rejects with a UsageError if they describe
 * none or two, and if the package that it needs is missing: otherwise every request would fail.
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
  const algorithmsSet = settings.list('algorithms')
  if (jwks === undefined) {
    if (algorithmsSet) throw new UsageError('`--algorithms` needs `--jwks`, which is missing.')
    const audience = settings.text('audience')
    return { secret: secretsIn(env), ...(audience !== undefined && { audience }) }
  }
  if (env.INSTEP_JWT_SECRET) {
    throw new UsageError('Set either `--jwks` or INSTEP_JWT_SECRET to check tokens, not both.')
  }
  const audience = settings.required('audience', 'the `aud` of the tokens, or `any`')
  // Unknown algorithms are refused by `jwtAuthentication`.
  const algorithms = (algorithmsSet ?? ['RS256', 'ES256']) as readonly AsymmetricAlgorithm[]
  return { jwks, algorithms, audience: audience === 'any' ? null : audience }
}
