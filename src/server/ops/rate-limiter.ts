import type { RateLimiterAbstract } from 'rate-limiter-flexible'
import { refuseUnknown } from '../../base/check-options.ts'
import { ConfigurationError } from '../../base/errors.ts'
import type { Endpoint } from '../http/env.ts'
import { peer } from '../optional-peer.ts'
import { sha256 } from '../sha256.ts'
import type { RateLimit } from './rate-limit.ts'

/** The package counts by a timer, which ends a longer time at once. */
export const maxWindowMs = 2 ** 31 - 1

const limited = { bootstrap: true, delta: true, ws: true, tx: true } satisfies Record<Endpoint, true>

/** How many requests a user may make in a time. */
export interface Rate {
  readonly requests: number
  /** In ms, from 1 000 to 2 147 483 647, which is 24 days. */
  readonly windowMs: number
}

export interface RateLimiterOptions {
  /** How many requests a user may make. @default 100 */
  readonly requests?: number | undefined
  /** In how long, in ms, from 1 000 to 2 147 483 647, which is 24 days. @default 60_000 */
  readonly windowMs?: number | undefined
  /** Endpoints with a rate of their own, whose requests do not count elsewhere. */
  readonly endpoints?: Readonly<Partial<Record<Endpoint, Rate>>> | undefined
  /** A pool of `pg`'s: all processes count together, in the table `instep_rate`. @default each counts for itself */
  readonly pool?: RatePool | undefined
}

/** What a pool of `pg`'s has. */
export interface RatePool {
  query(statement: { readonly text: string }): Promise<unknown>
}

/**
 * Limits how often a user may ask, 100 times a minute unless it is told otherwise, by the package
 * `rate-limiter-flexible`. While the database of the pool does not answer, each process counts for itself. Throws a
 * ConfigurationError for a wrong rate.
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
    const own = endpoints[endpoint]
    const name = own ? endpoint : 'all'
    const limiter = limiters.get(name) ?? makeLimiter(name, own ?? { requests, windowMs }, pool)
    limiters.set(name, limiter)
    return limiter
  }
  return {
    async ready() {
      await load()
    },
    async take({ userId }, endpoint) {
      const limiter = await limiterOf(endpoint)
      // No name is too long for a table then, and none holds what a table cannot.
      return limiter(sha256(userId))
    },
  }
}

type Limiter = (key: string) => Promise<number | undefined>

async function makeLimiter(name: string, rate: Rate, pool: RatePool | undefined): Promise<Limiter> {
  const { RateLimiterMemory, RateLimiterPostgres, RateLimiterRes } = await load()
  const common = { keyPrefix: name, points: rate.requests, duration: rate.windowMs / 1_000 }
  const memory = new RateLimiterMemory(common)
  /** Its table may not be there yet: then it is made, and where that fails, tried again the next time. */
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
  return peer('rate-limiter-flexible', () => import('rate-limiter-flexible'))
}

function check({ requests, windowMs }: Rate): void {
  if (Number.isInteger(requests) && requests > 0 && windowMs >= 1_000 && windowMs <= maxWindowMs) return
  throw new ConfigurationError(
    'rateLimit',
    `A rate is a whole number of \`requests\` above 0 in a \`windowMs\` from 1000 to ${maxWindowMs}.`,
  )
}
