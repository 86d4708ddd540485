import { refuseUnknown } from '../../base/check-options.ts'
import { resolveEnvironment } from '../../base/environment.default.ts'
import type { Clock } from '../../base/environment.ts'
import { ConfigurationError } from '../../base/errors.ts'
import { sha256 } from '../sha256.ts'
import { type Authenticate, type Caller, isCaller, type Refusal } from './caller.ts'
import { checkMs } from './check-ms.ts'
import { hasCredentials } from './credentials.ts'
import { inTime } from './in-time.ts'

export interface CacheOptions {
  /** How long a caller is believed unasked, in ms; never longer than until `expiresAt`. @default 60_000 */
  readonly ttlMs?: number | undefined
  /** How many callers are kept. @default 10_000 */
  readonly maxEntries?: number | undefined
  readonly clock?: Clock | undefined
}

export interface CachedAuthenticate extends Authenticate {
  /** Has the callers that `match` names be asked for again. In this process: in others, `ttlMs` bounds what is believed. */
  forget(match: (caller: Caller) => boolean): void
}

interface Entry {
  readonly caller: Caller
  readonly from: number
  readonly until: number
}

/**
 * `authenticate`, which is to go by the headers `Authorization` and `X-API-Key` alone, asked once in a while for the
 * same ones. Refusals are not kept. Of credentials, only a hash is. Throws a ConfigurationError for a wrong option.
 */
export function cached(authenticate: Authenticate, options: CacheOptions = {}): CachedAuthenticate {
  const { ttlMs = 60_000, maxEntries = 10_000, clock = resolveEnvironment().clock } = options
  refuseUnknown(options, { ttlMs, maxEntries, clock })
  checkMs('ttlMs', ttlMs)
  if (!(maxEntries >= 1))
    throw new ConfigurationError('maxEntries', '`maxEntries` is a number of callers above 0.')
  /** The one that was used longest ago comes first. */
  const entries = new Map<string, Entry>()
  const asked = new Map<string, Promise<Caller | Refusal | null>>()
  let forgotten = 0

  const keep = (key: string, entry: Entry) => {
    entries.delete(key)
    entries.set(key, entry)
    for (const oldest of entries.keys()) {
      if (entries.size <= maxEntries) return
      entries.delete(oldest)
    }
  }

  /** What was asked before something was forgotten may be what was to be forgotten, so it is asked again. */
  const ask = async (key: string, request: Request): Promise<Caller | Refusal | null> => {
    const before = forgotten
    // Whoever comes next would wait for the same answer.
    const result = await inTime(authenticate(request), clock)
    if (before !== forgotten) return ask(key, request)
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
    // A clock that was set back would have it believed for as long again.
    if (entry && entry.from <= now && now < entry.until) {
      keep(key, entry)
      return entry.caller
    }
    entries.delete(key)
    const pending = asked.get(key) ?? ask(key, request).finally(() => asked.delete(key))
    asked.set(key, pending)
    return pending
  }

  const forget = (match: (caller: Caller) => boolean) => {
    forgotten += 1
    for (const [key, { caller }] of entries) if (match(caller)) entries.delete(key)
  }
  return Object.assign(check, { forget })
}

function keyOf({ headers }: Request): string {
  return sha256(JSON.stringify([headers.get('Authorization'), headers.get('X-API-Key')]))
}
