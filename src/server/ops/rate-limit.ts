import type { Caller } from '../auth/caller.ts'
import type { Endpoint } from '../http/env.ts'

/** Limits how often callers may send requests. */
export interface RateLimit {
  /** Resolves once the limit can be applied. Rejects with a ConfigurationError if a package is missing. */
  ready?(): Promise<void>
  /**
   * Counts a request. Resolves with `undefined` if the request is allowed, or else with the time to wait, in ms. If it
   * rejects, the request is allowed.
   */
  take(caller: Caller, endpoint: Endpoint): Promise<number | undefined>
}
