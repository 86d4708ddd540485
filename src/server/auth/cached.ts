import { refuseUnknown } from '../../base/check-options.ts'
import { resolveEnvironment } from '../../base/environment.default.ts'
import type { Clock } from '../../base/environment.ts'
import { ConfigurationError } from '../../base/errors.ts'
import { sha256 } from '../sha256.ts'
import { type Authenticate, type Caller, isCaller, type Refusal } from './caller.ts'
import { checkMs } from './check-ms.ts'
import { hasCredentials } from './credentials.ts'
import { withTimeLimit } from './time-limit.ts'

export interface CacheOptions {
  /** How long an accepted caller is cached, in ms, and never beyond `expiresAt`. @default 60_000 */
  readonly ttlMs?: number | undefined
  /** The maximum number of cached callers. @default 10_000 */
  readonly maxEntries?: number | undefined
  readonly clock?: Clock | undefined
}

export interface CachedAuthenticate extends Authenticate {
  /**
   * Removes the callers for which `match` returns true from the cache of this process. In other processes, they stay
   * cached for at most `ttlMs`.
   */
  forget(match: (caller: Caller) => boolean): void
}

interface Entry {
  readonly caller: Caller
  readonly from: number
  readonly until: number
}

/**
 * Caches the accepted callers of `authenticate`, by the headers `Authorization` and `X-API-Key`. So `authenticate` must
 * not depend on anything else in the request. Refusals are not cached. Credentials are stored only as hashes. Throws a
 * ConfigurationError for an invalid option.
 */
export function cached(authenticate: Authenticate, options: CacheOptions = {}): CachedAuthenticate {
  const { ttlMs = 60_000, maxEntries = 10_000, clock = resolveEnvironment().clock } = options
  refuseUnknown(options, { ttlMs, maxEntries, clock })
  checkMs('ttlMs', ttlMs)
  if (!(maxEntries >= 1)) throw new ConfigurationError('maxEntries', '`maxEntries` must be at least 1.')
  /** Ordered by last use, oldest first. */
  const entries = new Map<string, Entry>()
  const pendingByKey = new Map<string, Promise<Caller | Refusal | null>>()
  let forgetCount = 0

  const keep = (key: string, entry: Entry) => {
    entries.delete(key)
    entries.set(key, entry)
    for (const oldest of entries.keys()) {
      if (entries.size <= maxEntries) return
      entries.delete(oldest)
    }
  }

  /** A call that began before `forget` may return a caller who was to be forgotten, so it is repeated. */
  const ask = async (key: string, request: Request): Promise<Caller | Refusal | null> => {
    const before = forgetCount
    // Limited in time, since later requests with the same credentials wait for the same call.
    const result = await withTimeLimit(authenticate(request), clock)
    if (before !== forgetCount) return ask(key, request)
    if (isCaller(result)) {
      const from = clock.now()
      const until = Math.min(from + ttlMs, result.expiresAt ?? Number.POSITIVE_INFINITY)
      keep(key, { caller: result, from, until })
    }
    return result
  }

  const check = async (request: Request): Promise<Caller | Refusal | null> => {
    if (!hasCredentials(request)) return authenticate(request)
    const key = keyOf(request)
    const entry = entries.get(key)
    const now = clock.now()
    // If the clock was set back, the entry would be valid for longer than `ttlMs`.
    if (entry && entry.from <= now && now < entry.until) {
      keep(key, entry)
      return entry.caller
    }
    entries.delete(key)
    const pending = pendingByKey.get(key) ?? ask(key, request).finally(() => pendingByKey.delete(key))
    pendingByKey.set(key, pending)
    return pending
  }

  const forget = (match: (caller: Caller) => boolean) => {
    forgetCount += 1
    for (const [key, { caller }] of entries) if (match(caller)) entries.delete(key)
  }
  return Object.assign(check, { forget })
}

function keyOf({ headers }: Request): string {
  return sha256(JSON.stringify([headers.get('Authorization'), headers.get('X-API-Key')]))
}
