import { ConfigurationError } from '../base/errors.ts'

/** Loads what only a part of Instep needs. Rejects with a ConfigurationError that says how to install it. */
export async function peer<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    const message = `\`instep/server\` needs the package \`${name}\`; install it with \`npm install ${name}\`.`
    throw new ConfigurationError(name, message, { cause })
  }
}
