import type { Logger } from '../../base/logger.ts'

/** The part of a logger of pino's that is used. */
export interface PinoLike {
  debug(details: object, message: string): void
  info(details: object, message: string): void
  warn(details: object, message: string): void
  error(details: object, message: string): void
}

/** A Logger that writes to one of pino's, whose arguments come the other way round. */
export function pinoLogger(pino: PinoLike): Logger {
  return {
    debug: (message, details = {}) => pino.debug(details, message),
    info: (message, details = {}) => pino.info(details, message),
    warn: (message, details = {}) => pino.warn(details, message),
    error: (message, details = {}) => pino.error(details, message),
  }
}
