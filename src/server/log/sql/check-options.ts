import { type Check, check } from '../../../base/check-options.ts'
import { checkRetention } from '../retention.ts'

/** The longest time that a timer takes, and a setting of PostgreSQL's, in ms: both would take a longer one for none. */
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

/** What of a log's options is checked. */
type Checked = { readonly [Name in keyof typeof checks | 'retention']?: unknown }

/** Throws a ConfigurationError that names the option of a log which is wrong. */
export function checkLogOptions(options: Checked): void {
  for (const [option, accepts] of Object.entries(checks)) {
    const value = options[option as keyof typeof checks]
    if (value !== undefined) check(option, value, accepts)
  }
  checkRetention(options.retention)
}
