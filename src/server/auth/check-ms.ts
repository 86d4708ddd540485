import { type Check, check } from '../../base/check-options.ts'

const isTime: Check = [(value) => typeof value === 'number' && value > 0, 'a number of ms above 0']

/** Throws a ConfigurationError where `value` is no time. A text, as from the environment, would be put behind a moment. */
export function checkMs(option: string, value: unknown): void {
  check(option, value, isTime)
}
