import type { Random } from '../../base/environment.ts'
import type { Logger } from '../../base/logger.ts'
import type { Middleware } from './env.ts'

/** What is taken over from whoever stands before the service: nothing that could be more than a name. */
const sane = /^[\w.:=-]{1,128}$/

const header = 'X-Request-Id'

/** Gives each request an id, the one that it comes with where it has one, for the answer and for all log lines. */
export function requestIds({
  logger,
  random,
}: {
  readonly logger: Logger
  readonly random: Random
}): Middleware {
  const process = Array.from(random.bytes(8), (byte) => byte.toString(16).padStart(2, '0')).join('')
  let count = 0
  return async (c, next) => {
    const sent = c.req.header(header) ?? ''
    count += 1
    const requestId = sane.test(sent) ? sent : `${process}-${count}`
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
