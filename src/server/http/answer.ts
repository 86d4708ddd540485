import type { AppContext } from './env.ts'
import { Failure } from './failure.ts'
import type { JsonBody } from './json-body.ts'

/** The request headers that a page of another origin may send. */
export const pageHeaders = ['Authorization', 'Content-Type', 'X-API-Key']

export function sendFailure(c: AppContext, { status, body, headers }: Failure): Response {
  return sendJson(c, status, new TextEncoder().encode(JSON.stringify(body)), headers)
}

/** Sends `body` as JSON. The header `Content-Length` tells `compress` which bodies are too short to be compressed. */
export function sendJson(
  c: AppContext,
  status: 200 | Failure['status'],
  body: JsonBody,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const length = body instanceof Uint8Array ? { 'Content-Length': String(body.byteLength) } : undefined
  return c.body(body, status, { 'Content-Type': 'application/json', ...length, ...headers })
}

export function methodNotAllowed(allowed: string): Failure {
  return new Failure(405, 'method_not_allowed', `This endpoint accepts only ${allowed}.`, { Allow: allowed })
}
