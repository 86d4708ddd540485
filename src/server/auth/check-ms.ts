import { type Check, check } from '../../base/check-options.ts'

const isTime: Check = [(value) => typeof value === 'number' && value > 0, 'a number of ms above 0']

/**
 * Throws a ConfigurationError if `value` is not a number of ms above 0. A string, as from an environment variable,
 * would be concatenated to a time rather than added.
 */
export function checkMs(option: string, value: unknown): void {
  check(option, value, isTime)
}
