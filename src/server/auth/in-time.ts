import { withDeadline } from '../../base/deadline.ts'
import type { Clock } from '../../base/environment.ts'

/** How long it may take to find out who calls, in ms. */
const maxMs = 30_000

/** Settles as `answer` does, which an `authenticate` gave; rejects where that never comes, and all would wait for it. */
export function inTime<T>(answer: Promise<T>, clock: Clock): Promise<T> {
  // An application may give no promise.
  return withDeadline(clock, maxMs, Promise.resolve(answer), () => {
    return new Error(`\`authenticate\` gives no answer in ${maxMs} ms.`)
  })
}
