import type { Unsubscribe } from './emitter.ts'

/** Calls `listener` when `signal` is aborted, at once where it is already, until that is undone. */
export function onAbort(signal: AbortSignal | null | undefined, listener: () => void): Unsubscribe {
  if (signal?.aborted) listener()
  signal?.addEventListener('abort', listener)
  return () => signal?.removeEventListener('abort', listener)
}
