/** Where a client writes what a developer may want to read. Tokens never reach it. */
export interface Logger {
  debug(message: string, details?: object): void
  info(message: string, details?: object): void
  warn(message: string, details?: object): void
  error(message: string, details?: object): void
}

const nothing = () => {}

/** `logger`, of which nothing depends on whether it fails. */
export function harmless(logger: Logger): Logger {
  const at = (level: keyof Logger) => (message: string, details?: object) => {
    try {
      logger[level](message, details)
    } catch {
      // There is nobody else to tell.
    }
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }
