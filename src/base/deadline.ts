import type { Clock } from './environment.ts'
import { Timer } from './timer.ts'

/** Settles as `promise` does, or rejects with what `late` gives once `ms` have gone by. */
export function withDeadline<T>(
  clock: Clock,
  ms: number,
  promise: Promise<T>,
  late: () => Error,
): Promise<T> {
  return whileAlive(clock, ms, () => promise, late)
}

/** Settles as what `start` gives does, or rejects with what `late` gives once `ms` have gone by without a call of `alive`. */
export function whileAlive<T>(
  clock: Clock,
  ms: number,
  start: (alive: () => void) => Promise<T>,
  late: () => Error,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const alarm = new Timer(clock, () => reject(late()))
    let over = false
    const alive = () => {
      if (!over) alarm.set(ms)
    }
    const end = () => {
      over = true
      alarm.clear()
    }
    alive()
    start(alive).finally(end).then(resolve, reject)
  })
}
