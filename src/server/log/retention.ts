import { type Check, check, checkOptions } from '../../base/check-options.ts'
import { isObject } from '../../protocol/json.ts'

/** How much of the history and of the verdicts a log keeps. Records always stay. */
export interface Retention {
  /** The log forgets changes that are older than this, in ms. @default no limit */
  readonly maxAgeMs?: number | undefined
  /** The log keeps at most this number of the newest changes. @default no limit */
  readonly maxChanges?: number | undefined
  /**
   * The log forgets verdicts that are older than this, in ms, on transaction ids that are as old. Choose more than the
   * longest time that a client may be offline with unsent changes: an older transaction without a verdict is rejected
   * as `expired`. At least an hour. A verdict on an id that is not a UUID of version 7 stays, since the id contains no
   * time. @default verdicts stay
   */
  readonly maxVerdictAgeMs?: number | undefined
}

/** How often a log forgets what it may forget, in ms. */
export const forgetEveryMs = 600_000

/** The maximum difference between the clocks of two processes, in ms. Verdicts are kept that much longer. */
export const maxClockSkewMs = 3_600_000

/** A negative limit would forget everything. */
const isRest: Check = [(value) => typeof value === 'number' && value >= 0, 'a number of 0 or more']

/** With less, devices whose clocks are slightly behind could write nothing. */
export const minVerdictAgeMs = 3_600_000
const isVerdictAge: Check = [
  (value) => typeof value === 'number' && value >= minVerdictAgeMs,
  'a number of 3_600_000 or more: an hour',
]

/** Throws a ConfigurationError that names the invalid setting. */
export function checkRetention(retention: unknown = {}): void {
  check('retention', retention, [isObject, '{ maxAgeMs?, maxChanges?, maxVerdictAgeMs? }'])
  checkOptions(
    retention,
    { maxAgeMs: isRest, maxChanges: isRest, maxVerdictAgeMs: isVerdictAge },
    'retention.',
  )
}

/** The `verdictHorizon` for {@link decideOn} at the time `now`, in ms since the epoch; 0 if verdicts stay. */
export function verdictHorizonOf({ maxVerdictAgeMs }: Retention, now: number): number {
  return Math.max(0, Math.floor(now - (maxVerdictAgeMs ?? Number.POSITIVE_INFINITY)))
}
