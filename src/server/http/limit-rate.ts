import { toError } from '../../base/errors.ts'
import type { RateLimit } from '../ops/rate-limit.ts'
import { endpointOf, type Middleware } from './env.ts'
import { Failure } from './failure.ts'

/** Refuses a caller who asks too often. A limit that cannot be told lets the request pass. */
export function limitRate({ path, limit }: { readonly path: string; readonly limit: RateLimit }): Middleware {
  return async (c, next) => {
    const endpoint = endpointOf(c, path)
    if (endpoint !== 'other' && endpoint !== 'preflight') {
      const take = async () => limit.take(c.var.identity.caller, endpoint)
      const waitMs = await take().catch((error: unknown) => {
        c.var.logger.error('The rate of requests cannot be told.', { reason: toError(error).message })
        return undefined
      })
      if (waitMs !== undefined) {
        throw new Failure(429, 'too_many_requests', 'There were too many requests; wait before the next.', {
          'Retry-After': String(Math.max(1, Math.ceil(waitMs / 1_000))),
        })
      }
    }
    await next()
  }
}
