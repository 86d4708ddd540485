import type { Clock } from '../../base/environment.ts'
import { toError } from '../../base/errors.ts'
import type { Metrics } from '../ops/metrics.ts'
import { endpointOf, type Middleware } from './env.ts'

export interface ObserveOptions {
  readonly path: string
  readonly clock: Clock
  readonly metrics: Metrics | undefined
}

/** Logs and counts each answer, at the moment at which it begins. The path is logged without its query. */
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
      // What was done stays done, and its answer stands.
      c.var.logger.error('An answer cannot be counted.', { reason: toError(error).message })
    }
  }
}
