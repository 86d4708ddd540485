import type { Undo } from './emitter.ts'
import type { Clock } from './world.ts'

/** Settles as `promise` does, or rejects with what `late` gives once `ms` have gone by. */
export function withDeadline<T>(
  clock: Clock,
  ms: number,
  promise: Promise<T>,
  late: () => Error,
): Promise<T> {
  let cancel: Undo = () => {}
  const deadline = new Promise<never>((_, reject) => {
    cancel = clock.after(ms, () => reject(late()))
  })
  return Promise.race([promise, deadline]).finally(cancel)
}
