import { withDeadline } from '../base/deadline.ts'
import type { Clock } from '../base/environment.ts'
import { NetworkError } from '../base/errors.ts'
import { onAbort } from '../base/on-abort.ts'

/** One exchange with the service, from its first byte to its last. */
export interface PendingRequest {
  /** Aborted when the call ends, however it ends: what a fetch still holds open is let go. */
  readonly signal: AbortSignal
  /** Settles as `promise` does, unless `ms` go by before it, or the caller gives up. `what` names it in the error. */
  wait<T>(promise: Promise<T>, ms: number, what: string): Promise<T>
}

/** Runs `body`. Rejects with the reason of `signal` as soon as it is aborted and `body` waits. */
export async function runRequest<T>(
  clock: Clock,
  signal: AbortSignal | undefined,
  body: (call: PendingRequest) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted()
  const controller = new AbortController()
  let giveUp: (reason: unknown) => void = () => {}
  const undo = onAbort(signal, () => {
    giveUp(signal?.reason)
    controller.abort()
  })
  const call: PendingRequest = {
    signal: controller.signal,
    wait(promise, ms, what) {
      // A promise for each wait: one for the whole call would collect a reaction for every piece that is read.
      const givenUp = new Promise<never>((_, reject) => {
        giveUp = reject
      })
      if (signal?.aborted) giveUp(signal.reason)
      const late = () => new NetworkError('timeout', `${what} took longer than ${ms / 1000} s.`)
      return withDeadline(clock, ms, Promise.race([givenUp, promise]), late)
    },
  }
  try {
    return await body(call)
  } finally {
    undo()
    controller.abort()
    // Whatever came of the body: a caller that gave up gets its own reason.
    signal?.throwIfAborted()
  }
}
