import type { Clock } from '../base/environment.ts'
import { yieldAfter } from '../base/turns.ts'

/** Long work that can run at once or in turns. Each `yield` is a point where other tasks may run. */
export type Work<T> = Generator<void, T, void>

/** The number of loop steps between two `yield`s, approximately. */
export const stride = 1_000

/** The length of a turn, in ms: half of a frame at 60 Hz. */
const turnMs = 8

/** Runs all of `work` now. */
export function runToEnd<T>(work: Work<T>): T {
  let step = work.next()
  while (!step.done) step = work.next()
  return step.value
}

/** Runs `work` in short turns, with other tasks in between. */
export async function runInSlices<T>(clock: Clock, work: Work<T>): Promise<T> {
  const pauseIfLong = yieldAfter(clock, turnMs)
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
    await pauseIfLong()
  }
}
