import type { Check } from '../base/check-options.ts'

export const isFunction: Check = [(value) => typeof value === 'function', 'a function']
export const isName: Check = [
  (value) => typeof value === 'string' && value !== '',
  'a string that is not empty',
]
export const isNumber: Check = [(value) => Number.isFinite(value), 'a number']
export const isDuration: Check = [
  (value) => typeof value === 'number' && value >= 0,
  'a number of ms, 0 or more',
]

export const oneOf = (values: readonly string[]): Check => [
  (value) => values.some((allowed) => allowed === value),
  `one of ${values.join(', ')}`,
]
