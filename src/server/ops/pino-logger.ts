import type { Logger } from '../../base/logger.ts'

/** The methods of a pino logger that are used. */
export interface PinoLike {
  debug(details: object, message: string): void
  info(details: object, message: string): void
  warn(details: object, message: string): void
  error(details: object, message: string): void
}

/** Adapts a pino logger, which takes its arguments in the opposite order. */
export function pinoLogger(pino: PinoLike): Logger {
  return {
    debug: (message, details = {}) => pino.debug(details, message),
    info: (message, details = {}) => pino.info(details, message),
    warn: (message, details = {}) => pino.warn(details, message),
    error: (message, details = {}) => pino.error(details, message),
  }
}
