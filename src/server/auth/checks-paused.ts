/**
 * Credentials cannot be checked before `retryAfterMs` have passed, because too many unknown ones were sent. The request
 * is answered with 503.
 */
export class ChecksPaused extends Error {
  readonly retryAfterMs: number

  constructor(message: string, retryAfterMs: number) {
    super(message)
    this.retryAfterMs = retryAfterMs
  }
}
