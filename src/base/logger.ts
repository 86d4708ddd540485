/** Receives messages for developers. Messages and details never contain tokens. */
export interface Logger {
  debug(message: string, details?: object): void
  info(message: string, details?: object): void
  warn(message: string, details?: object): void
  error(message: string, details?: object): void
}

/** Receives one line for each event, decision, request, store transaction and wait, without payloads and tokens. */
export type Debug = Logger['debug']

/** From the least severe to the most. */
export const levels = ['debug', 'info', 'warn', 'error'] as const satisfies readonly (keyof Logger)[]

/** Returns a logger. `at` returns the method for each level. */
export function loggerOf(at: (level: keyof Logger) => (message: string, details?: object) => void): Logger {
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** Wraps `logger` so that its exceptions are ignored. */
export function nonThrowing(logger: Logger): Logger {
  return loggerOf((level) => (message, details) => {
    try {
      logger[level](message, details)
    } catch {
      // There is no other place to report the error.
    }
  })
}

export const silentLogger: Logger = loggerOf(() => () => {})
