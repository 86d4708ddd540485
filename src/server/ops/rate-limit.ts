import type { Caller } from '../auth/caller.ts'
import type { Endpoint } from '../http/env.ts'

/** Knows how often callers may ask. */
export interface RateLimit {
  /** Resolves once it can tell. Rejects with a ConfigurationError where a package is missing. */
  ready?(): Promise<void>
  /** Counts a request of `caller`. Resolves with `undefined`, or where there were too many with how long to wait, in ms. */
  take(caller: Caller, endpoint: Endpoint): Promise<number | undefined>
}
