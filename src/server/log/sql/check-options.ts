import { type Check, check } from '../../../base/check-options.ts'
import { checkRetention } from '../retention.ts'

const bounds = [
  'readerIdleMs',
  'spoolAfterMs',
  'maxReadMs',
  'maxReaders',
  'maxDeltaReaders',
  'maxWaitMs',
] as const

const isBound: Check = [(value) => typeof value === 'number' && value > 0, 'a number above 0']
/** What of a log's options is checked. */
type Checked = { readonly [Name in (typeof bounds)[number] | 'retention']?: unknown }

/** Throws a ConfigurationError that names the option of a log which is wrong. */
export function checkLogOptions(options: Checked): void {
  for (const option of bounds) if (options[option] !== undefined) check(option, options[option], isBound)
  checkRetention(options.retention)
}
