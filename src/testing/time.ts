import { resolveEnvironment } from '../base/environment.default.ts'
import type { Clock } from '../base/environment.ts'
import type { SettleOptions } from './settle.ts'
import { VirtualClock } from './virtual-clock.ts'

/** Virtual or real time: the clock, and the functions that wait. */
export interface Time<C extends Clock> {
  readonly clock: C
  readonly latencyMs: number
  readonly settling: Required<SettleOptions>
  wait(ms: number): Promise<void>
  until<T>(promise: Promise<T>): Promise<T>
  during<T>(work: Promise<T>): Promise<T>
}

export function virtualTime(): Time<VirtualClock> {
  const clock = new VirtualClock()
  return {
    clock,
    latencyMs: 20,
    settling: { quietMs: 1_100, limitMs: 300_000 },
    wait: (ms) => clock.advance(ms),
    until: (promise) => clock.until(promise),
    during: (work) => clock.during(work),
  }
}

export function realTime(): Time<Clock> {
  const { clock } = resolveEnvironment()
  const same = <T>(promise: Promise<T>) => promise
  return {
    clock,
    latencyMs: 0,
    settling: { quietMs: 100, limitMs: 10_000 },
    wait: (ms) => new Promise((resolve) => void clock.after(ms, resolve)),
    until: same,
    during: same,
  }
}
