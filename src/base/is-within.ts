import type { Clock } from './environment.ts'

/**
 * Whether `at`, in ms since the epoch, is less than `ms` away from now. A clock may be set back: a time further in the
 * future counts as over, so that nobody waits until the clock reaches it again.
 */
export function isWithin(clock: Clock, at: number, ms: number): boolean {
  return Math.abs(clock.now() - at) < ms
}
