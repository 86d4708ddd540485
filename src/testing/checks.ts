import { ConfigurationError, wrongOption } from '../base/errors.ts'
import { refuseUnknown } from '../base/known-options.ts'
import { isObject } from '../protocol/json.ts'

/** Whether a value is what it must be, and what that is. */
export type Check = readonly [accepts: (value: unknown) => boolean, what: string]

export const isFunction: Check = [(value) => typeof value === 'function', 'a function']
export const isName: Check = [(value) => typeof value === 'string' && value !== '', 'a text']
export const isNumber: Check = [(value) => Number.isFinite(value), 'a number']
export const isDuration: Check = [
  (value) => typeof value === 'number' && value >= 0,
  'a number of ms, 0 or more',
]

export const oneOf = (values: readonly string[]): Check => [
  (value) => values.some((one) => one === value),
  `one of ${values.join(', ')}`,
]

/** Throws a ConfigurationError that names what plain JavaScript gave wrong. */
export function check(name: string, value: unknown, [accepts, what]: Check): void {
  if (!accepts(value)) throw wrongOption(name, `must be ${what}.`)
}

/** The same for options, each of which may be left out. */
export function checkOptions(options: unknown, checks: Readonly<Record<string, Check>>): void {
  if (!isObject(options)) throw new ConfigurationError('options', 'Options must be an object.')
  refuseUnknown(options, checks)
  for (const [name, of] of Object.entries(checks)) {
    if (options[name] !== undefined) check(name, options[name], of)
  }
}
