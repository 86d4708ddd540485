import {
  isSyncError,
  NetworkError,
  ProtocolError,
  StorageError,
  SyncError,
  type SyncErrorOptions,
  toError,
} from '../base/errors.ts'

/** An error, as it comes through to the other side. */
export interface Fault {
  readonly name: string
  readonly code?: string
  readonly message: string
  readonly retryable?: boolean
}

/** What a worker's errors are of. */
const classes = { NetworkError, ProtocolError, StorageError }

type Made = new (code: never, message: string, options: SyncErrorOptions) => SyncError

export function faultOf(error: unknown): Fault {
  if (!isSyncError(error)) return { name: toError(error).name, message: toError(error).message }
  const { name, code, message, retryable } = error
  return { name, code, message, retryable }
}

/** An error like the one that became `fault`. */
export function revived({ name, code, message, retryable = false }: Fault): SyncError {
  const known: { readonly [name: string]: Made | undefined } = classes
  const Class = known[name]
  // The code was that of such an error.
  if (Class) return new Class(code as never, message, { retryable })
  return new SyncError('SyncError', 'unexpected', `Something unexpected failed in the worker: ${message}`)
}
