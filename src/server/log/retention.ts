import { type Check, check, checkOptions } from '../../base/check-options.ts'
import { isObject } from '../../protocol/json.ts'

/** What may be forgotten of the history, and of the verdicts; the records stay. */
export interface Retention {
  /** Changes older than this, in ms. */
  readonly maxAgeMs?: number | undefined
  /** All but so many of the newest changes. */
  readonly maxChanges?: number | undefined
  /**
   * Verdicts that are older than this, in ms, on ids that were made as long ago, which is to be longer than anybody may be
   * offline with unsent changes: a transaction that is older, and has no verdict, is `expired`. At least an hour. A verdict
   * on an id that is no UUID of version 7 tells no time, and stays. @default they stay
   */
  readonly maxVerdictAgeMs?: number | undefined
}

/** How often a log forgets what it may. In ms. */
export const forgetEveryMs = 600_000

/** By how much the clocks of two processes may differ, in ms: a verdict is kept for that much longer. */
export const slackMs = 3_600_000

/** Below 0, all would be forgotten. */
const isRest: Check = [(value) => typeof value === 'number' && value >= 0, 'a number of 0 or more']

/** Below it, devices whose clocks are a little behind could write nothing. */
export const minVerdictAgeMs = 3_600_000
const isVerdictAge: Check = [
  (value) => typeof value === 'number' && value >= minVerdictAgeMs,
  'a number of 3_600_000 or more: an hour',
]

/** Throws a ConfigurationError that names what is wrong with it. */
export function checkRetention(retention: unknown = {}): void {
  check('retention', retention, [isObject, '{ maxAgeMs?, maxChanges?, maxVerdictAgeMs? }'])
  checkOptions(
    retention,
    { maxAgeMs: isRest, maxChanges: isRest, maxVerdictAgeMs: isVerdictAge },
    'retention.',
  )
}

/** What {@link decideOn} is to take for it at `now`; 0 where verdicts stay. */
export function verdictHorizonOf({ maxVerdictAgeMs }: Retention, now: number): number {
  return Math.max(0, Math.floor(now - (maxVerdictAgeMs ?? Number.POSITIVE_INFINITY)))
}
