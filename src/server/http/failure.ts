import type { ErrorBody } from '../../protocol/error-body.ts'

type Status = 400 | 401 | 403 | 404 | 405 | 410 | 413 | 415 | 426 | 429 | 500 | 503

/** An answer that is no 2xx. `code` is for programs, the message for people. */
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

/** The answer to what cannot be done now, and may be tried again after so many seconds. */
export function unavailable(message: string, retryAfterSeconds: number): Failure {
  return new Failure(503, 'unavailable', message, { 'Retry-After': String(retryAfterSeconds) })
}

/** The answer to a request whose body somebody else has taken: a client would take a 4xx for a verdict on what it wrote. */
export function bodyIsGone(): Failure {
  const advice = 'let nothing read bodies before Instep, as `express.json()` does'
  return new Failure(500, 'internal', `The body of the request was read before; ${advice}.`)
}
