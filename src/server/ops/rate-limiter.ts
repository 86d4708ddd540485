import type { RateLimiterAbstract } from 'rate-limiter-flexible'
import { refuseUnknown } from '../../base/check-options.ts'
import { ConfigurationError } from '../../base/errors.ts'
import type { Endpoint } from '../http/env.ts'
import { loadPeer } from '../optional-peer.ts'
import { sha256 } from '../sha256.ts'
import type { RateLimit } from './rate-limit.ts'

/** The longest window in ms: the package uses a timer, which fires at once for longer times. */
export const maxWindowMs = 2 ** 31 - 1

const limited = { bootstrap: true, delta: true, ws: true, tx: true } satisfies Record<Endpoint, true>

/** A number of requests per time. */
export interface Rate {
  readonly requests: number
  /** The length of the window in ms, from 1 000 to 2 147 483 647 (24 days). */
  readonly windowMs: number
}

export interface RateLimiterOptions {
  /** The number of requests that a user may send per window. @default 100 */
  readonly requests?: number | undefined
  /** The length of the window in ms, from 1 000 to 2 147 483 647 (24 days). @default 60_000 */
  readonly windowMs?: number | undefined
  /** Endpoints with a separate rate. Their requests count only for that rate. */
  readonly endpoints?: Readonly<Partial<Record<Endpoint, Rate>>> | undefined
  /**
   * A pool of `pg`. With it, all processes share the counts, in the table `instep_rate`. @default each process counts
   * for itself
   */
  readonly pool?: RatePool | undefined
}

/** The method of a `pg` pool that is used. */
export interface RatePool {
  query(statement: { readonly text: string }): Promise<unknown>
}

/**
 * Limits how often a user may send requests: 100 times a minute by default. Needs the package `rate-limiter-flexible`.
 * While the pool's database does not answer, each process counts for itself. Throws a ConfigurationError for an invalid
 * option.
 */
export function rateLimiter(options: RateLimiterOptions = {}): RateLimit {
  const { requests = 100, windowMs = 60_000, endpoints = {}, pool } = options
  refuseUnknown(options, { requests, windowMs, endpoints, pool })
  refuseUnknown(endpoints, limited, 'endpoints.')
  for (const [endpoint, rate] of Object.entries(endpoints))
    refuseUnknown(rate, { requests, windowMs }, `endpoints.${endpoint}.`)
  for (const rate of [{ requests, windowMs }, ...Object.values(endpoints)]) check(rate)
  const limiters = new Map<string, Promise<Limiter>>()
  const limiterOf = (endpoint: Endpoint) => {
    const separate = endpoints[endpoint]
    const name = separate ? endpoint : 'all'
    const limiter = limiters.get(name) ?? makeLimiter(name, separate ?? { requests, windowMs }, pool)
    limiters.set(name, limiter)
    return limiter
  }
  return {
    async ready() {
      await load()
    },
    async take({ userId }, endpoint) {
      const limiter = await limiterOf(endpoint)
      // A hash fits every table column, whatever the length and the characters of the user id.
      return limiter(sha256(userId))
    },
  }
}

type Limiter = (key: string) => Promise<number | undefined>

async function makeLimiter(name: string, rate: Rate, pool: RatePool | undefined): Promise<Limiter> {
  const { RateLimiterMemory, RateLimiterPostgres, RateLimiterRes } = await load()
  const common = { keyPrefix: name, points: rate.requests, duration: rate.windowMs / 1_000 }
  const memory = new RateLimiterMemory(common)
  /** Creates the table if necessary. If that fails, the next request tries again. */
  const open = () =>
    new Promise<RateLimiterAbstract>((resolve, reject) => {
      const store = { storeClient: pool, storeType: 'pool', tableName: 'instep_rate' }
      const made = new RateLimiterPostgres({ ...common, ...store, insuranceLimiter: memory }, (error) => {
        if (error) reject(error)
        else resolve(made)
      })
    })
  let opened: Promise<RateLimiterAbstract> | undefined
  const shared = () => {
    opened ??= open().catch(() => {
      opened = undefined
      return memory
    })
    return opened
  }
  return async (key) => {
    const limiter = pool ? await shared() : memory
    try {
      await limiter.consume(key)
      return undefined
    } catch (refusal) {
      if (refusal instanceof RateLimiterRes) return refusal.msBeforeNext
      throw refusal
    }
  }
}

function load() {
  return loadPeer('rate-limiter-flexible', () => import('rate-limiter-flexible'))
}

function check({ requests, windowMs }: Rate): void {
  const isWindow = typeof windowMs === 'number' && windowMs >= 1_000 && windowMs <= maxWindowMs
  if (Number.isInteger(requests) && requests > 0 && isWindow) return
  throw new ConfigurationError(
    'rateLimit',
    `A rate needs a whole number of \`requests\` above 0 and a \`windowMs\` from 1000 to ${maxWindowMs}.`,
  )
}
