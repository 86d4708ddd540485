import { wrongOption } from './errors.ts'

/** Throws a ConfigurationError for the first of `options` that is none of `known`; `at` says whose they are. */
export function refuseUnknown(options: object, known: object, at = ''): void {
  const unknown = Object.keys(options).find((option) => !Object.hasOwn(known, option))
  if (unknown === undefined) return
  throw wrongOption(at + unknown, `is no option; expected one of ${Object.keys(known).join(', ')}.`)
}
