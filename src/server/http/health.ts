import { withDeadline } from '../../base/deadline.ts'
import type { Clock } from '../../base/environment.ts'
import { toError } from '../../base/errors.ts'
import type { Log, Position } from '../log/log.ts'
import { sendJson } from './answer.ts'
import type { AppContext } from './env.ts'
import { unavailable } from './failure.ts'

/** A log that takes longer than this, in ms, is of no use to anybody. */
const maxMs = 2_000

/** Where the log is. However many ask at once, it is asked once; rejects where it does not answer in time. */
export function positionReader(log: Log, clock: Clock): () => Promise<Position> {
  const late = () => new Error(`It gives no answer in ${maxMs} ms.`)
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
  /** Whether requests are better sent elsewhere. */
  readonly draining: () => boolean
}

/** Answers whether requests are welcome: 200, or 503. It needs no credentials, so it tells nothing else. */
export function health({ position, draining }: HealthOptions): (c: AppContext) => Promise<Response> {
  return async (c) => {
    if (draining()) throw unavailable('The service is stopping.', 1)
    try {
      await position()
    } catch (error) {
      c.var.logger.error('The log cannot be used.', { reason: toError(error).message })
      throw unavailable('The database cannot be used at the moment.', 1)
    }
    return sendJson(c, 200, new TextEncoder().encode('{"status":"ok"}'))
  }
}
