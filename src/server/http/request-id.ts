import type { Random } from '../../base/environment.ts'
import type { Logger } from '../../base/logger.ts'
import type { Middleware } from './env.ts'

/** The ids that are accepted from the request's header: short names only. */
const validId = /^[\w.:=-]{1,128}$/

const header = 'X-Request-Id'

/**
 * Sets the id of each request, for the response and for all log lines. If the request has a valid `X-Request-Id`, that
 * is the id.
 */
export function requestIds({
  logger,
  random,
}: {
  readonly logger: Logger
  readonly random: Random
}): Middleware {
  // A running number would reveal how many requests all other callers send.
  const newId = () => Array.from(random.bytes(16), (byte) => byte.toString(16).padStart(2, '0')).join('')
  return async (c, next) => {
    const sent = c.req.header(header) ?? ''
    const requestId = validId.test(sent) ? sent : newId()
    c.set('requestId', requestId)
    c.set('logger', withDetails(logger, { requestId }))
    c.header(header, requestId)
    await next()
  }
}

function withDetails(logger: Logger, fixed: object): Logger {
  return {
    debug: (message, details) => logger.debug(message, { ...fixed, ...details }),
    info: (message, details) => logger.info(message, { ...fixed, ...details }),
    warn: (message, details) => logger.warn(message, { ...fixed, ...details }),
    error: (message, details) => logger.error(message, { ...fixed, ...details }),
  }
}
