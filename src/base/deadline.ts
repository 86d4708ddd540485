import type { Clock } from './environment.ts'
import { Timer } from './timer.ts'

/** Settles as `promise` does, or rejects with the result of `late` after `ms`. */
export function withDeadline<T>(
  clock: Clock,
  ms: number,
  promise: Promise<T>,
  late: () => Error,
): Promise<T> {
  return whileAlive(clock, ms, () => promise, late)
}

/**
 * Settles as the promise of `start` does, or rejects with the result of `late` when `ms` pass without a call of
 * `alive`.
 */
export function whileAlive<T>(
  clock: Clock,
  ms: number,
  start: (alive: () => void) => Promise<T>,
  late: () => Error,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = new Timer(clock, () => reject(late()))
    let isOver = false
    const alive = () => {
      if (!isOver) timer.set(ms)
    }
    const end = () => {
      isOver = true
      timer.clear()
    }
    alive()
    start(alive).finally(end).then(resolve, reject)
  })
}
