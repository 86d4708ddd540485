import { type Authenticate, type Caller, type Refusal, refuse } from './caller.ts'

/** The maximum length of a token or key. Longer ones are ignored. */
const maxChars = 16_384

/**
 * The token of `Authorization: Bearer` (RFC 6750, section 2.1); `undefined` if there is none, or if the header has more
 * than 16 384 characters.
 */
export function bearerToken({ headers }: Request): string | undefined {
  const authorization = headers.get('Authorization') ?? ''
  return authorization.length > maxChars ? undefined : /^Bearer +(\S+) *$/i.exec(authorization)?.[1]
}

/** The key of `X-API-Key`; `undefined` if there is none, or if it has more than 16 384 characters. */
export function apiKeyOf({ headers }: Request): string | undefined {
  const key = headers.get('X-API-Key') ?? ''
  return key === '' || key.length > maxChars ? undefined : key
}

/** Whether the request has credentials of any kind. */
export function hasCredentials({ headers }: Request): boolean {
  return headers.has('Authorization') || headers.has('X-API-Key')
}

/** Whether a header has a token or a key, valid or not. Then the query does not count. */
function hasToken({ headers }: Request): boolean {
  return /^Bearer( |$)/i.test(headers.get('Authorization') ?? '') || Boolean(headers.get('X-API-Key'))
}

/** Authenticates by the bearer token. `check` is only called with a token. */
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
 * The request of a socket, with the token moved from its query to the `Authorization` header, where other requests have
 * it. The query counts only if no header has a token (see the authentication section of `docs/protocol.md`). A token
 * with characters that no header can hold is never valid.
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

/** `text` for a log, without the request's credentials, plain or encoded for a URL. */
export function withoutCredentials(text: string, { headers }: Request): string {
  const values = [headers.get('Authorization')?.replace(/^\S+ +/, ''), headers.get('X-API-Key')]
  const secrets = values.flatMap((value) => (value ? [value, encodeURIComponent(value)] : []))
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '…'), text)
}
