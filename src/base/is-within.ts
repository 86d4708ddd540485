import type { Clock } from './environment.ts'

/**
 * Whether `at`, in ms since the epoch, is less than `ms` away. A clock may be set: what lies further in the future than
 * that is over, so that nobody waits until the clock comes to it again.
 */
export function isWithin(clock: Clock, at: number, ms: number): boolean {
  return Math.abs(clock.now() - at) < ms
}
