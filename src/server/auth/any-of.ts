import { ConfigurationError } from '../../base/errors.ts'
import { type Authenticate, isCaller, type RefusalCode, refuse } from './caller.ts'
import { bearerToken, hasCredentials } from './credentials.ts'

/**
 * Combines several authentications. They are asked in order, and the first that returns a caller decides. A refusal as
 * `token_expired`, or with a `message`, ends the search, since that authentication has recognized the token. If none
 * returns a caller and one of them has rejected, the result rejects with the first error. Throws a ConfigurationError
 * without any authentication.
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
        if (result?.refused === 'token_expired' || result?.message !== undefined) return result
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
    return refuse(refused)
  }
}

/**
 * Restricts `authenticate` to bearer tokens for which `fits` returns true; other tokens are refused. In {@link anyOf},
 * this keeps tokens that are checked locally from being sent to a provider.
 */
export function forTokens(fits: (token: string) => boolean, authenticate: Authenticate): Authenticate {
  return async (request) => {
    const token = bearerToken(request)
    return token === undefined || fits(token) ? authenticate(request) : refuse('no_token')
  }
}

/** Whether `token` has the shape of a signed JSON Web Token (RFC 7515, section 7.1), valid or not. */
export function looksLikeJwt(token: string): boolean {
  return /^eyJ[\w-]+\.[\w-]+\.[\w-]*$/.test(token)
}
