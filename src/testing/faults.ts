import { type Check, check, checkOptions } from '../base/check-options.ts'
import type { Clock } from '../base/environment.ts'
import { ConfigurationError } from '../base/errors.ts'
import { isObject } from '../protocol/json.ts'
import type { AcceptSocket } from '../server/realtime/server-socket.ts'
import { isDuration, oneOf } from './checks.ts'

const endpoints = ['bootstrap', 'delta', 'tx', 'ws'] as const

export type Endpoint = (typeof endpoints)[number]

/** Which of the requests to come. */
export interface FaultScope {
  /** @default any */
  readonly endpoint?: Endpoint
  /** How many; `Infinity` until `heal`. @default 1 */
  readonly times?: number
}

export const isCount: Check = [
  (value) => value === Number.POSITIVE_INFINITY || (Number.isInteger(value) && Number(value) > 0),
  'a whole number above 0, or Infinity',
]

const scopeChecks = { endpoint: oneOf(endpoints), times: isCount }

/**
 * What comes in place of the promised answer: a captive portal's page with status 200; the answer, cut in the middle as
 * if that were all; or another status.
 */
export type FaultyResponse = 'html' | 'truncated' | number

export interface FaultyResponseOptions extends FaultScope {
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: unknown
}

/** An answer, or what takes the socket that was asked for. */
export type Answer = Response | AcceptSocket

/** What happens to a request; `ask` has the service do it. A rejection: the connection broke. */
export type Fault = (ask: () => Promise<Answer>, request: Request) => Promise<Answer>

/** The service does it at once, and its answer comes `ms` later. */
export function lateBy(ms: number, clock: Pick<Clock, 'after'>): Fault {
  check('ms', ms, isDuration)
  return async (ask) => {
    const answer = await ask()
    await new Promise<void>((resolve) => {
      clock.after(ms, resolve)
    })
    return answer
  }
}

/** Nobody hears it, and nobody says so. */
export const unheard: Fault = () => new Promise(() => {})

/** The service does it, and the connection breaks before its answer is there. */
export const lost: Fault = async (ask) => {
  await ask()
  throw new Error('The connection broke.')
}

const page = '<!doctype html><title>Sign in</title><p>Accept the terms of this network.</p>'

/** What `wrong` may be given. */
export const wrongChecks: Readonly<Record<keyof FaultyResponseOptions, Check>> = {
  ...scopeChecks,
  headers: [isObject, 'an object of texts'],
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

/** What `Response` makes (Fetch, section 5.5); a stand-in for that, as msw has one, makes others, too. */
function checkStatus(status: number, text: string | null): void {
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw new ConfigurationError('wrong', '`wrong` takes `html`, `truncated` or a status from 200 to 599.')
  }
  if (text !== null && [204, 205, 304].includes(status)) {
    throw new ConfigurationError('wrong', `An answer of status ${status} has no body; leave \`body\` out.`)
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

/** The verdict on each transaction of the request, which the service never sees. */
export function rejection(code: string, message: string, head: () => Promise<number>): Fault {
  return async (_, request) => {
    const { txs } = (await request.json()) as { readonly txs: readonly { readonly id: string }[] }
    return Response.json({
      sid: await head(),
      results: txs.map(({ id }) => ({ id, error: { code, message } })),
    })
  }
}

/** The faults of the requests to come, in the order in which they were asked for. */
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

  /** Whether one of them will not end by itself. */
  get endless(): boolean {
    return this.#planned.some(({ times }) => times === Number.POSITIVE_INFINITY)
  }

  /** Whether requests go unanswered from now on. */
  get mute(): boolean {
    return this.#planned.some(({ fault, times }) => fault === unheard && times === Number.POSITIVE_INFINITY)
  }

  /** The first that is meant for `endpoint`; it is used up by that. */
  take(endpoint: string): Fault | undefined {
    const found = this.#planned.find((planned) => (planned.endpoint ?? endpoint) === endpoint)
    if (!found) return undefined
    found.times -= 1
    this.#planned = this.#planned.filter(({ times }) => times > 0)
    return found.fault
  }
}
