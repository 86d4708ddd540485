/** Receives messages for developers. Messages and details never contain tokens. */
export interface Logger {
  debug(message: string, details?: object): void
  info(message: string, details?: object): void
  warn(message: string, details?: object): void
  error(message: string, details?: object): void
}

/** Receives one line for each event, decision, request, store transaction and wait, without payloads and tokens. */
export type Debug = Logger['debug']

const nothing = () => {}

/** Wraps `logger` so that its exceptions are ignored. */
export function harmless(logger: Logger): Logger {
  const at = (level: keyof Logger) => (message: string, details?: object) => {
    try {
      logger[level](message, details)
    } catch {
      // There is no other place to report the error.
    }
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }
