import { type Check, check, checkOptions } from '../../../base/check-options.ts'
import { isObject } from '../../../protocol/json.ts'

const bounds = [
  'readerIdleMs',
  'spoolAfterMs',
  'maxReadMs',
  'maxReaders',
  'maxDeltaReaders',
  'maxWaitMs',
] as const

const isBound: Check = [(value) => typeof value === 'number' && value > 0, 'a number above 0']
/** Below 0, all would be forgotten. */
const isRest: Check = [(value) => typeof value === 'number' && value >= 0, 'a number of 0 or more']

/** Below it, devices whose clocks are a little behind could write nothing. */
export const leastVerdictAgeMs = 3_600_000
const isVerdictAge: Check = [
  (value) => typeof value === 'number' && value >= leastVerdictAgeMs,
  'a number of 3_600_000 or more: an hour',
]

/** What of a log's options is checked. */
type Checked = { readonly [Name in (typeof bounds)[number] | 'retention']?: unknown }

/** Throws a ConfigurationError that names the option of a log which is wrong. */
export function checkLogOptions(options: Checked): void {
  for (const option of bounds) if (options[option] !== undefined) check(option, options[option], isBound)
  const { retention = {} } = options
  check('retention', retention, [isObject, '{ maxAgeMs?, maxChanges?, maxVerdictAgeMs? }'])
  checkOptions(
    retention,
    { maxAgeMs: isRest, maxChanges: isRest, maxVerdictAgeMs: isVerdictAge },
    'retention.',
  )
}
