import type { Clock } from './environment.ts'

/**
 * Whether `at`, in ms since the epoch, is less than `ms` away from now. The clock may be set back, so a time further in
 * the future counts as over: otherwise, a wait could last until the clock reaches that time.
 */
export function isWithin(clock: Clock, at: number, ms: number): boolean {
  return Math.abs(clock.now() - at) < ms
}
