import { withDeadline } from '../base/deadline.ts'
import type { Clock } from '../base/environment.ts'
import { NetworkError } from '../base/errors.ts'
import { onAbort } from '../base/on-abort.ts'

/** One request to the service, until the last byte of the response. */
export interface PendingRequest {
  /** Aborted when the request ends in any way, so that a fetch releases its connection. */
  readonly signal: AbortSignal
  /**
   * Settles as `promise` does, or rejects after `ms` or when the caller aborts. `what`: the subject of the timeout's
   * message.
   */
  wait<T>(promise: Promise<T>, ms: number, what: string): Promise<T>
  /** Call at the end. Throws the reason of the caller if that has aborted, whatever the result is. */
  end(): void
}

/** Begins a request. Throws the reason of `signal` if it is aborted; `wait` rejects with the reason later on. */
export function beginRequest(clock: Clock, signal: AbortSignal | undefined): PendingRequest {
  signal?.throwIfAborted()
  const controller = new AbortController()
  let giveUp: (reason: unknown) => void = () => {}
  const undo = onAbort(signal, () => {
    giveUp(signal?.reason)
    controller.abort()
  })
  return {
    signal: controller.signal,
    wait(promise, ms, what) {
      // A promise for each wait: a single one for the whole request would collect a reaction for every part that is
      // read.
      const givenUp = new Promise<never>((_, reject) => {
        giveUp = reject
      })
      if (signal?.aborted) giveUp(signal.reason)
      const late = () => new NetworkError('timeout', `${what} took longer than ${ms / 1000} s.`)
      return withDeadline(clock, ms, Promise.race([givenUp, promise]), late)
    },
    end() {
      undo()
      controller.abort()
      signal?.throwIfAborted()
    },
  }
}
