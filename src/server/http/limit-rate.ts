import { toError } from '../../base/errors.ts'
import type { RateLimit } from '../ops/rate-limit.ts'
import { endpointOf, type Middleware } from './env.ts'
import { tooManyRequests } from './failure.ts'

/** Refuses requests of a caller who sends too many. If the limit cannot be checked, the request passes. */
export function limitRate({ path, limit }: { readonly path: string; readonly limit: RateLimit }): Middleware {
  return async (c, next) => {
    const endpoint = endpointOf(c, path)
    if (endpoint !== 'other' && endpoint !== 'preflight') {
      const take = async () => limit.take(c.var.identity.caller, endpoint)
      const waitMs = await take().catch((error: unknown) => {
        c.var.logger.error('The rate limit cannot be checked.', { reason: toError(error).message })
        return undefined
      })
      if (waitMs !== undefined) {
        const seconds = Math.max(1, Math.ceil(waitMs / 1_000))
        throw tooManyRequests('Too many requests. Wait for the time in `Retry-After`.', seconds)
      }
    }
    await next()
  }
}
