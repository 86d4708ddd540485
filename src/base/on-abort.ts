import type { Unsubscribe } from './emitter.ts'

/**
 * Calls `listener` when `signal` is aborted, or at once if it already is. Returns a function that removes the listener.
 */
export function onAbort(signal: AbortSignal | null | undefined, listener: () => void): Unsubscribe {
  if (signal?.aborted) listener()
  signal?.addEventListener('abort', listener)
  return () => signal?.removeEventListener('abort', listener)
}
