import { HttpError, NetworkError, type SyncError } from '../base/errors.ts'
import { readErrorBody } from '../protocol/error-body.ts'
import type { Credential, Credentials } from './credentials.ts'
import { redactUrl } from './endpoints.ts'

export interface RefusedResponse {
  readonly url: string
  readonly response: Response
  /** The text of its body. */
  readonly text: string
  readonly credentials: Credentials
  readonly credential: Credential | undefined
  /** The time, in ms since the epoch. */
  readonly now: number
}

/** The error for a response whose status is not 2xx. */
export function errorOf({ url, response, text, credentials, credential, now }: RefusedResponse): SyncError {
  // The status of a redirect is 0.
  const { status } = response
  const address = redactUrl(url)
  if (status < 400) {
    return new NetworkError('unreachable', `${address} redirects; use the address of its target.`)
  }
  const body = readErrorBody(text)
  const message = `${address} answered ${status}${body?.message ? `: ${quote(body.message, credential)}` : '.'}`
  if (status === 401) return credentials.refuse(message, credential)
  return new HttpError(message, {
    status,
    serverCode: body && without(body.code, credential),
    retryAfterMs: retryAfterMs(response.headers.get('Retry-After') ?? '', now),
  })
}

/** The wait that `Retry-After` asks for, in ms. Its value is seconds or a date (RFC 9110, section 10.2.3). */
function retryAfterMs(value: string, now: number): number | undefined {
  if (/^\s*\d+\s*$/.test(value)) return Number(value) * 1000
  // One of the three forms of a date leaves out GMT (RFC 9110, section 5.6.7).
  const date = /^[A-Z]/.test(value) ? value.replace(/( GMT)?$/, ' GMT') : ''
  // biome-ignore lint/style/noRestrictedGlobals: it reads a date, not the clock
  const at = Date.parse(date)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}

/** The start of the server's message, without anything that may be a token: a service may echo one. */
function quote(message: string, credential: Credential | undefined): string {
  return without(message, credential)
    .replace(/[\w.~+/=-]{20,}/g, '…')
    .slice(0, 200)
}

function without(text: string, credential: Credential | undefined): string {
  return credential ? text.replaceAll(credential.value, '…') : text
}
