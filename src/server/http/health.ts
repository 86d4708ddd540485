import { withDeadline } from '../../base/deadline.ts'
import type { Clock } from '../../base/environment.ts'
import { toError } from '../../base/errors.ts'
import type { Log, Position } from '../log/log.ts'
import { sendJson } from './answer.ts'
import type { AppContext } from './env.ts'
import { unavailable } from './failure.ts'

/** How long the log may take to return its position, in ms. */
const maxMs = 2_000

/**
 * Returns a function that reads the position of the log. Concurrent calls share one read. It rejects if the log does
 * not answer in time.
 */
export function positionReader(log: Log, clock: Clock): () => Promise<Position> {
  const late = () => new Error(`The database did not answer within ${maxMs} ms.`)
  let reading: Promise<Position> | undefined
  return () => {
    reading ??= withDeadline(clock, maxMs, log.position(), late).finally(() => {
      reading = undefined
    })
    return reading
  }
}

export interface HealthOptions {
  readonly position: () => Promise<Position>
  readonly log: Log
  /** Whether a load balancer should send requests elsewhere. */
  readonly draining: () => boolean
}

/**
 * Answers 200 if the service accepts requests, `degraded` if a part of it does not work, or 503. Needs no credentials, so the response contains nothing
 * else.
 */
export function health({ position, log, draining }: HealthOptions): (c: AppContext) => Promise<Response> {
  return async (c) => {
    if (draining()) throw unavailable('The service is stopping.', 1)
    try {
      await position()
    } catch (error) {
      c.var.logger.error('The database cannot be used.', { reason: toError(error).message })
      throw unavailable('The database cannot be used at the moment.', 1)
    }
    const status = (log.faults?.() ?? []).length > 0 ? 'degraded' : 'ok'
    return sendJson(c, 200, new TextEncoder().encode(`{"status":"${status}"}`))
  }
}
