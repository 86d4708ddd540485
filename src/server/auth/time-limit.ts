import { withDeadline } from '../../base/deadline.ts'
import type { Clock } from '../../base/environment.ts'

/** The time limit of `authenticate`, in ms. */
const maxMs = 30_000

/**
 * Settles like `answer`, or rejects when the time limit has passed. Without it, a call of `authenticate` that never
 * ends would block all later requests that wait for it.
 */
export function withTimeLimit<T>(answer: Promise<T>, clock: Clock): Promise<T> {
  // An application's function may return a plain value instead of a promise.
  return withDeadline(clock, maxMs, Promise.resolve(answer), () => {
    return new Error(`\`authenticate\` did not answer within ${maxMs} ms.`)
  })
}
