import { ConfigurationError, toError } from '../base/errors.ts'

/**
 * Loads an optional dependency. Rejects with a ConfigurationError that says how to install the package, or why it does
 * not load.
 */
export async function loadPeer<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    const message = isMissing(cause)
      ? `\`instep/server\` needs the package \`${name}\`; install it with \`npm install ${name}\`.`
      : `The package \`${name}\` cannot be loaded: ${toError(cause).message}`
    throw new ConfigurationError(name, message, { cause })
  }
}

function isMissing(cause: unknown): boolean {
  const code = typeof cause === 'object' && cause !== null && 'code' in cause && cause.code
  return code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
}
