import { HttpError, NetworkError, type SyncError } from '../base/errors.ts'
import { readErrorBody } from '../protocol/error-body.ts'
import type { Credential, Credentials } from './credentials.ts'
import { redactUrl } from './endpoints.ts'

export interface Refusal {
  readonly url: string
  readonly response: Response
  /** What its body says. */
  readonly text: string
  readonly credentials: Credentials
  readonly credential: Credential | undefined
  /** The time, in ms since the epoch. */
  readonly now: number
}

/** The error that an answer which is no 2xx stands for. */
export function errorOf({ url, response, text, credentials, credential, now }: Refusal): SyncError {
  // 0 for a redirect.
  const { status } = response
  const where = redactUrl(url)
  if (status < 400) {
    return new NetworkError('unreachable', `${where} redirects; give the address that it leads to.`)
  }
  const body = readErrorBody(text)
  const message = `${where} answered ${status}${body?.message ? `: ${quote(body.message, credential)}` : '.'}`
  if (status === 401) return credentials.refuse(message, credential)
  return new HttpError(message, {
    status,
    serverCode: body && without(body.code, credential),
    retryAfterMs: retryAfterMs(response.headers.get('Retry-After') ?? '', now),
  })
}

/** What `Retry-After` asks for, in ms: seconds or a date (RFC 9110, section 10.2.3). */
function retryAfterMs(value: string, now: number): number | undefined {
  if (/^\s*\d+\s*$/.test(value)) return Number(value) * 1000
  // Of the three forms of a date, one leaves out that it is GMT (RFC 9110, section 5.6.7).
  const date = /^[A-Z]/.test(value) ? value.replace(/( GMT)?$/, ' GMT') : ''
  // biome-ignore lint/style/noRestrictedGlobals: it reads a date, not the clock
  const at = Date.parse(date)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}

/** The beginning of what the server says, without whatever in it may be a token: a service may echo one. */
function quote(message: string, credential: Credential | undefined): string {
  return without(message, credential)
    .replace(/[\w.~+/=-]{20,}/g, '…')
    .slice(0, 200)
}

function without(text: string, credential: Credential | undefined): string {
  return credential ? text.replaceAll(credential.value, '…') : text
}
