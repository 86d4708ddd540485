import { parseArgs } from 'node:util'

export const defaultPort = 5173

/**
 * Reads the options from the command line. `--help` prints `help` and ends the process. A wrong option prints an error
 * and `help`, and ends the process with exit code 1.
 */
export function readOptions({ help, options, check }) {
  try {
    const { values } = parseArgs({ options: { ...options, help: { type: 'boolean', short: 'h' } } })
    if (!values.help) return check(values)
  } catch (error) {
    fail(`${error.message}\n\n${help}`)
  }
  console.log(help)
  process.exit()
}

/** Reads a whole number from `min` to `max`. Throws an Error for any other text. */
export function readNumber(name, text, min, max) {
  const number = Number(text)
  if (text.trim() !== '' && Number.isInteger(number) && number >= min && number <= max) return number
  throw new Error(`--${name} must be a whole number from ${min} to ${max}.`)
}

/** Prints `message`, and ends the process with exit code 1. */
export function fail(message) {
  console.error(message)
  process.exit(1)
}
