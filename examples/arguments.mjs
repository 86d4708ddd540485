import { parseArgs } from 'node:util'

/**
 * Reads `[database] [--port <number>]` from the command line. `--help` prints `usage` and ends the process. Anything else
 * prints what is wrong, and ends the process with exit code 2, before anything is created.
 */
export function readArguments({ usage, port: defaultPort }) {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { port: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
    })
    if (values.help) {
      console.log(usage)
      process.exit()
    }
    const [database = 'memory:', ...others] = positionals
    if (others.length > 0) throw new Error(`There is one database at most; ${others[0]} is one too many.`)
    const port = Number(values.port ?? defaultPort)
    if (!Number.isInteger(port) || port < 0 || port > 65_535)
      throw new Error('--port must be a whole number from 0 to 65535.')
    return { database, port }
  } catch ({ message }) {
    console.error(`${message}\n\n${usage}`)
    process.exit(2)
  }
}
