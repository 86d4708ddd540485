import { ConfigurationError, wrongOption } from './errors.ts'

/** Whether a value is what it must be, and what that is. */
export type Check = readonly [accepts: (value: unknown) => boolean, what: string]

export interface Checks {
  readonly [option: string]: Check
}

/** Throws a ConfigurationError that names `option` where `value` is not what it must be. */
export function check(option: string, value: unknown, [accepts, what]: Check): void {
  if (!accepts(value)) throw wrongOption(option, `must be ${what}.`)
}

/** The same for options, each of which may be left out, and for one that there is not; `at` says whose they are. */
export function checkOptions(options: unknown, checks: Checks, at = ''): void {
  if (typeof options !== 'object' || !options) {
    throw new ConfigurationError('options', 'Options must be an object.')
  }
  refuseUnknown(options, checks, at)
  for (const [option, value] of Object.entries(options)) {
    const of = checks[option]
    if (of && value !== undefined) check(at + option, value, of)
  }
}

/** Throws a ConfigurationError for the first of `options` that is none of `known`; `at` says whose they are. */
export function refuseUnknown(options: object, known: object, at = ''): void {
  const unknown = Object.keys(options).find((option) => !Object.hasOwn(known, option))
  if (unknown === undefined) return
  throw wrongOption(at + unknown, `is no option; expected one of ${Object.keys(known).join(', ')}.`)
}
