import { type Authenticate, type Caller, type Refusal, refuse } from './caller.ts'

/** What is longer is no token or key of anybody's, and is not looked at. */
const maxChars = 16_384

/** The token of `Authorization: Bearer` (RFC 6750, section 2.1); `undefined` also where it is beyond 16 384 characters. */
export function bearerToken({ headers }: Request): string | undefined {
  const authorization = headers.get('Authorization') ?? ''
  return authorization.length > maxChars ? undefined : /^Bearer +(\S+) *$/i.exec(authorization)?.[1]
}

/** The key of `X-API-Key`, within the same length. */
export function apiKeyOf({ headers }: Request): string | undefined {
  const key = headers.get('X-API-Key') ?? ''
  return key === '' || key.length > maxChars ? undefined : key
}

/** Whether the request tries to prove anything. */
export function hasCredentials({ headers }: Request): boolean {
  return headers.has('Authorization') || headers.has('X-API-Key')
}

/** Whether a header has a token or a key, of whatever worth: then no other place counts. */
function hasToken({ headers }: Request): boolean {
  return /^Bearer( |$)/i.test(headers.get('Authorization') ?? '') || Boolean(headers.get('X-API-Key'))
}

/** Authenticates by what `check` says of the bearer token; without one, nothing is asked. */
export function bearerAuthentication(
  check: (token: string) => Promise<Caller | Refusal | null>,
): Authenticate {
  return async (request) => {
    const token = bearerToken(request)
    if (token !== undefined) return check(token)
    return refuse(request.headers.has('Authorization') ? 'invalid_token' : 'no_token')
  }
}

/**
 * The request of a socket, with the token of its query moved to where all others have it. The query counts only where
 * no header has one (the interface's section "Authentication", 3). What no header can hold is nobody's token.
 */
export function socketRequest(request: Request): Request {
  const url = new URL(request.url)
  const token = url.searchParams.get('token')
  if (token === null) return request
  url.searchParams.delete('token')
  const headers = new Headers(request.headers)
  if (!hasToken(request)) headers.set('Authorization', /^[!-~]+$/.test(token) ? `Bearer ${token}` : 'Bearer')
  return new Request(url, { method: request.method, headers })
}

/** `text` without the request's credentials, as they came or within an address, for a log. */
export function withoutCredentials(text: string, { headers }: Request): string {
  const values = [headers.get('Authorization')?.replace(/^\S+ +/, ''), headers.get('X-API-Key')]
  const secrets = values.flatMap((value) => (value ? [value, encodeURIComponent(value)] : []))
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '…'), text)
}
