import { parseArgs } from 'node:util'

export const defaultPort = 5173

/**
 * The options on the command line; `--help` prints `help` and ends the process, and so does an option that is wrong,
 * with a sentence and exit code 1.
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

/** A whole number from `least` to `most`. */
export function readNumber(name, text, least, most) {
  const number = Number(text)
  if (text.trim() !== '' && Number.isInteger(number) && number >= least && number <= most) return number
  throw new Error(`--${name} is to be a whole number from ${least} to ${most}.`)
}

/** Says why it cannot go on, and ends the process with exit code 1. */
export function fail(message) {
  console.error(message)
  process.exit(1)
}
