import { ConfigurationError, wrongOption } from './errors.ts'

/** A predicate for valid values, and a description of them for the error message. */
export type Check = readonly [accepts: (value: unknown) => boolean, expected: string]

export interface Checks {
  readonly [option: string]: Check
}

/** Throws a ConfigurationError that names `option` if `value` is not valid. */
export function check(option: string, value: unknown, [accepts, expected]: Check): void {
  if (!accepts(value)) throw wrongOption(option, `must be ${expected}.`)
}

/**
 * Checks all `options`. Options may be `undefined`; unknown ones are refused. `at`: a prefix of their names in
 * messages.
 */
export function checkOptions(options: unknown, checks: Checks, at = ''): void {
  if (typeof options !== 'object' || !options) {
    const owner = at && ` of \`${at.slice(0, -1)}\``
    throw new ConfigurationError('options', `The options${owner} must be an object.`)
  }
  refuseUnknown(options, checks, at)
  for (const [option, value] of Object.entries(options)) {
    const rule = checks[option]
    if (rule && value !== undefined) check(at + option, value, rule)
  }
}

/**
 * Throws a ConfigurationError for the first of `options` that is not in `known`. `at`: a prefix of its name in the
 * message.
 */
export function refuseUnknown(options: object, known: object, at = ''): void {
  const unknown = Object.keys(options).find((option) => !Object.hasOwn(known, option))
  if (unknown === undefined) return
  throw wrongOption(at + unknown, `is not an option; expected one of ${Object.keys(known).join(', ')}.`)
}
