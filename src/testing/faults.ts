import { type Check, check, checkOptions } from '../base/check-options.ts'
import type { Clock } from '../base/environment.ts'
import { ConfigurationError } from '../base/errors.ts'
import { isObject } from '../protocol/json.ts'
import type { AcceptSocket } from '../server/realtime/server-socket.ts'
import { isDuration, oneOf } from './checks.ts'

const endpoints = ['bootstrap', 'delta', 'tx', 'ws'] as const

export type Endpoint = (typeof endpoints)[number]

/** The requests that a fault applies to. */
export interface FaultScope {
  /** @default any endpoint */
  readonly endpoint?: Endpoint
  /** The number of requests; `Infinity`: all requests until `heal`. @default 1 */
  readonly times?: number
}

export const isCount: Check = [
  (value) => value === Number.POSITIVE_INFINITY || (Number.isInteger(value) && Number(value) > 0),
  'a whole number above 0, or Infinity',
]

const scopeChecks = { endpoint: oneOf(endpoints), times: isCount }

/**
 * A response that breaks the protocol. `html`: a sign-in page with status 200, as from a captive portal. `truncated`:
 * the first half of the response, without a sign that the rest is missing. A number: a response with that status.
 */
export type FaultyResponse = 'html' | 'truncated' | number

export interface FaultyResponseOptions extends FaultScope {
  readonly headers?: Readonly<Record<string, string>>
  /** The body of the response, sent as JSON. Ignored for `html` and `truncated`. */
  readonly body?: unknown
}

/** A response, or the function that accepts the requested socket. */
export type ServerResponse = Response | AcceptSocket

/**
 * Handles a request instead of the service. `ask` passes the request to the service. Rejects if the connection breaks.
 */
export type Fault = (ask: () => Promise<ServerResponse>, request: Request) => Promise<ServerResponse>

/** The service handles the request at once, and the response comes `ms` later. */
export function delayedBy(ms: number, clock: Pick<Clock, 'after'>): Fault {
  check('ms', ms, isDuration)
  return async (ask) => {
    const answer = await ask()
    await new Promise<void>((resolve) => {
      clock.after(ms, resolve)
    })
    return answer
  }
}

/** The request does not reach the service, and never gets a response. */
export const unanswered: Fault = () => new Promise(() => {})

/** The service handles the request, and the connection breaks before the response. */
export const responseLost: Fault = async (ask) => {
  await ask()
  throw new Error('The connection broke.')
}

const page = '<!doctype html><title>Sign in</title><p>Accept the terms of this network.</p>'

/** The options of `wrong`. */
export const wrongChecks: Readonly<Record<keyof FaultyResponseOptions, Check>> = {
  ...scopeChecks,
  headers: [isObject, 'an object of strings'],
  body: [() => true, ''],
}

export function faultyResponse(wrong: FaultyResponse, { headers, body }: FaultyResponseOptions): Fault {
  if (wrong === 'html')
    return async () => new Response(page, { headers: { 'Content-Type': 'text/html', ...headers } })
  if (wrong === 'truncated') return cutInHalf
  const text = body === undefined ? null : JSON.stringify(body)
  checkStatus(wrong, text)
  return async () =>
    new Response(text, { status: wrong, headers: { 'Content-Type': 'application/json', ...headers } })
}

/**
 * Throws a ConfigurationError for a response that `Response` cannot create (Fetch, section 5.5). The check is here
 * because replacements of `Response`, such as that of msw, accept more.
 */
function checkStatus(status: number, text: string | null): void {
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw new ConfigurationError('wrong', '`wrong` must be `html`, `truncated` or a status from 200 to 599.')
  }
  if (text !== null && [204, 205, 304].includes(status)) {
    throw new ConfigurationError('wrong', `A response of status ${status} has no body: omit \`body\`.`)
  }
}

const cutInHalf: Fault = async (ask) => {
  const answer = await ask()
  if (typeof answer === 'function') throw new Error('The connection broke.')
  const text = await answer.text()
  const headers = new Headers(answer.headers)
  headers.delete('Content-Length')
  return new Response(text.slice(0, text.length / 2), { status: answer.status, headers })
}

/** Rejects each transaction of the request. The request does not reach the service. */
export function rejection(code: string, message: string, head: () => Promise<number>): Fault {
  return async (_, request) => {
    const { txs } = (await request.json()) as { readonly txs: readonly { readonly id: string }[] }
    return Response.json({
      sid: await head(),
      results: txs.map(({ id }) => ({ id, error: { code, message } })),
    })
  }
}

/** The faults of the next requests, in the order in which the test added them. */
export class FaultPlan {
  #planned: { readonly fault: Fault; readonly endpoint: Endpoint | undefined; times: number }[] = []

  add(fault: Fault, scope: FaultScope, checks: Readonly<Record<string, Check>> = scopeChecks): void {
    checkOptions(scope, checks)
    const { endpoint, times = 1 } = scope
    this.#planned.push({ fault, endpoint, times })
  }

  clear(): void {
    this.#planned = []
  }

  /** Whether a fault applies to all requests until `heal`. */
  get endless(): boolean {
    return this.#planned.some(({ times }) => times === Number.POSITIVE_INFINITY)
  }

  /** Whether requests get no response until `heal`. */
  get mute(): boolean {
    return this.#planned.some(
      ({ fault, times }) => fault === unanswered && times === Number.POSITIVE_INFINITY,
    )
  }

  /** Returns the first fault that applies to `endpoint`, and counts the request. */
  take(endpoint: string): Fault | undefined {
    const found = this.#planned.find((planned) => (planned.endpoint ?? endpoint) === endpoint)
    if (!found) return undefined
    found.times -= 1
    this.#planned = this.#planned.filter(({ times }) => times > 0)
    return found.fault
  }
}
