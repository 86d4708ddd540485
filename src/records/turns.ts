import type { Clock } from '../base/environment.ts'
import { yieldAfter } from '../base/turns.ts'

/** Long work, at once or in turns: each `yield` is a place where it may be left for a while. */
export type Work<T> = Generator<void, T, void>

/** About so many steps of a loop lie between two `yield`s. */
export const stride = 1_000

/** A turn takes about this long, in ms: half of a frame at 60 Hz. */
const turnMs = 8

/** Does all of `work` now. */
export function finish<T>(work: Work<T>): T {
  let step = work.next()
  while (!step.done) step = work.next()
  return step.value
}

/** Does `work` in short turns, with other tasks between them. */
export async function runInSlices<T>(clock: Clock, work: Work<T>): Promise<T> {
  const pauseIfLong = yieldAfter(clock, turnMs)
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
    await pauseIfLong()
  }
}
