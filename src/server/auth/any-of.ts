import { ConfigurationError } from '../../base/errors.ts'
import { type Authenticate, isCaller, type RefusalCode, refuse } from './caller.ts'
import { bearerToken, hasCredentials } from './credentials.ts'

/**
 * Several authentications at once, asked in order: the first that knows the caller wins. One that says that the token
 * has expired has known it, and ends the search. Where none knows, and one could not tell, nobody can. Throws a
 * ConfigurationError where it is given none.
 */
export function anyOf(...authentications: readonly Authenticate[]): Authenticate {
  if (authentications.length === 0) {
    throw new ConfigurationError('authentications', '`anyOf` needs at least one authentication.')
  }
  return async (request) => {
    const refused: RefusalCode = hasCredentials(request) ? 'invalid_token' : 'no_token'
    const failures: unknown[] = []
    for (const authenticate of authentications) {
      try {
        const result = await authenticate(request)
        if (isCaller(result)) return result
        if (result?.refused === 'token_expired') return result
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
    return refuse(refused)
  }
}

/**
 * `authenticate` for bearer tokens of the shape that `fits`; others are none for it. So what one kind can check by
 * itself is not sent to a provider, in {@link anyOf}.
 */
export function forTokens(fits: (token: string) => boolean, authenticate: Authenticate): Authenticate {
  return async (request) => {
    const token = bearerToken(request)
    return token === undefined || fits(token) ? authenticate(request) : refuse('no_token')
  }
}

/** Whether `token` looks like a signed JSON Web Token (RFC 7515, section 7.1), valid or not. */
export function looksLikeJwt(token: string): boolean {
  return /^eyJ[\w-]+\.[\w-]+\.[\w-]*$/.test(token)
}
