/** The token of `Authorization: Bearer` (RFC 6750, section 2.1). */
export function bearerToken({ headers }: Request): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(headers.get('Authorization') ?? '')?.[1]
}

/** Whether the request tries to prove anything. */
export function hasCredentials({ headers }: Request): boolean {
  return headers.has('Authorization') || headers.has('X-API-Key')
}

/**
 * The request of a socket, with the token of its query moved to where all others have it. The query counts only where
 * no header does (the interface's section "Authentication", 3).
 */
export function socketRequest(request: Request): Request {
  const url = new URL(request.url)
  const token = url.searchParams.get('token')
  if (token === null) return request
  url.searchParams.delete('token')
  const headers = new Headers(request.headers)
  if (!hasCredentials(request)) headers.set('Authorization', `Bearer ${token}`)
  return new Request(url, { headers })
}

/** `text` without the request's credentials, for a log. */
export function withoutCredentials(text: string, request: Request): string {
  const secrets = [bearerToken(request), request.headers.get('X-API-Key')]
  return secrets.reduce<string>((rest, secret) => (secret ? rest.replaceAll(secret, '…') : rest), text)
}
