import { type Check, check } from '../../../base/check-options.ts'
import { checkRetention } from '../retention.ts'

/** The maximum of a timer and of a time setting of PostgreSQL, in ms: neither works with a longer time. */
const maxMs = 2_147_483_647

const isCount: Check = [(value) => typeof value === 'number' && value > 0, 'a number above 0']
const isTime: Check = [
  (value) => typeof value === 'number' && value >= 1 && value <= maxMs,
  `a number of ms from 1 to ${maxMs}`,
]

const checks = {
  readerIdleMs: isTime,
  spoolAfterMs: isTime,
  maxReadMs: isTime,
  maxReaders: isCount,
  maxDeltaReaders: isCount,
  maxWaitMs: isTime,
}

/** The options that are checked. */
type Checked = { readonly [Name in keyof typeof checks | 'retention']?: unknown }

/** Throws a ConfigurationError that names the first invalid option of a log. */
export function checkLogOptions(options: Checked): void {
  for (const [option, accepts] of Object.entries(checks)) {
    const value = options[option as keyof typeof checks]
    if (value !== undefined) check(option, value, accepts)
  }
  checkRetention(options.retention)
}
