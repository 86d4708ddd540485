import type { Clock } from '../../base/environment.ts'
import { toError } from '../../base/errors.ts'
import type { Metrics } from '../ops/metrics.ts'
import { endpointOf, type Middleware } from './env.ts'

export interface ObserveOptions {
  readonly path: string
  readonly clock: Clock
  readonly metrics: Metrics | undefined
}

/** Logs and counts each response when it begins. The log has the path without the query. */
export function observe({ path, clock, metrics }: ObserveOptions): Middleware {
  return async (c, next) => {
    const began = clock.now()
    await next()
    const endpoint = endpointOf(c, path)
    const status = endpoint === 'ws' && c.res.status === 204 ? 101 : c.res.status
    const ms = clock.now() - began
    c.var.logger.info('A request was answered.', { method: c.req.method, path: c.req.path, status, ms })
    try {
      metrics?.answered({ endpoint, status, ms })
    } catch (error) {
      // The request succeeded, so a failing counter must not change the response.
      c.var.logger.error('A response could not be counted.', { reason: toError(error).message })
    }
  }
}
