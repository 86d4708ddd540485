import { parseArgs } from 'node:util'

/** Reads `[database] [--port <number>]` from the command line, as {@link readOptions} does. */
export function readArguments({ usage, port: defaultPort, database: defaultDatabase = 'memory:' }) {
  return readOptions({
    usage,
    options: { port: { type: 'string' } },
    check({ port = String(defaultPort) }, [database = defaultDatabase, ...others]) {
      if (others.length > 0) throw new Error(`There is one database at most; ${others[0]} is one too many.`)
      return { database, port: readNumber('port', port, 0, 65_535) }
    },
  })
}

/**
 * Reads the command line, and returns what `check` makes of its options and other arguments. `--help` prints `help` and
 * ends the process. Anything wrong prints a sentence and `usage`, and ends the process with exit code 2. Call this before
 * anything is created.
 */
export function readOptions({ usage, help = usage, options, check }) {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { ...options, help: { type: 'boolean', short: 'h' } },
    })
    if (!values.help) return check(values, positionals)
  } catch ({ message }) {
    // Node adds advice to its sentence.
    console.error(`${message.split(/\.?(?:\s*\n|\. |$)/)[0]}.\n${usage}`)
    process.exit(2)
  }
  console.log(help)
  process.exit()
}

/** Throws an Error if there is an argument that is no option. */
export function refuseOthers([other]) {
  if (other !== undefined) throw new Error(`Unknown argument '${other}'.`)
}

/** Reads a whole number from `min` to `max`. Throws an Error for any other text. */
export function readNumber(name, text, min, max) {
  const number = Number(text)
  if (text.trim() !== '' && Number.isInteger(number) && number >= min && number <= max) return number
  throw new Error(`--${name} must be a whole number from ${min} to ${max}.`)
}
