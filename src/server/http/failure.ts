import type { ErrorBody } from '../../protocol/error-body.ts'

type Status = 400 | 401 | 403 | 404 | 405 | 408 | 410 | 413 | 415 | 426 | 429 | 500 | 503

/** A response with an error status. `code` is for programs, `message` for people. */
export class Failure extends Error {
  readonly status: Status
  readonly code: string
  readonly headers: Readonly<Record<string, string>>

  constructor(status: Status, code: string, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.status = status
    this.code = code
    this.headers = headers
  }

  get body(): ErrorBody {
    return { error: { code: this.code, message: this.message } }
  }
}

/** The response if something is not possible now. `retryAfterSeconds` says when the client should try again. */
export function unavailable(message: string, retryAfterSeconds: number): Failure {
  return new Failure(503, 'unavailable', message, { 'Retry-After': String(retryAfterSeconds) })
}

/** The response if a caller sends too much. `retryAfterSeconds` says when the client should try again. */
export function tooManyRequests(message: string, retryAfterSeconds: number): Failure {
  return new Failure(429, 'too_many_requests', message, { 'Retry-After': String(retryAfterSeconds) })
}

/**
 * The response if something else has read the request's body. It is not a 4xx: a client would take a 4xx for a verdict
 * on its writes.
 */
export function bodyIsGone(): Failure {
  const advice = 'mount Instep before anything that reads bodies, such as `express.json()`'
  return new Failure(500, 'internal', `Something else has read the request body; ${advice}.`)
}
