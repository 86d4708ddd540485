import { type ErrorCodes, StorageError } from '../base/errors.ts'

type Code = ErrorCodes['StorageError']

const noRoom = ['quota', 'There is no room left for the local database: free some, or ask for more'] as const

/** What IndexedDB's own errors mean, by name, where they do not just say that something failed. */
const meanings: { readonly [name: string]: readonly [code: Code, what: string] | undefined } = {
  QuotaExceededError: noRoom,
  // Chromium 156, where a value of more than 64 kB cannot be written since the disk itself is full.
  DataError: noRoom,
  ConstraintError: ['fenced', 'Another client has written this since'],
  VersionError: ['unavailable', 'The local database was made by a newer version: reload to get that version'],
  // A value that is lost for good (Indexed Database API 3.0, section 3.1), in Chromium when its file is gone.
  NotReadableError: ['unreadable', 'The local database holds a value that cannot be read'],
}

/** Why opening or destroying failed, as a StorageError. */
export function openFailure(error: unknown): unknown {
  if (!(error instanceof DOMException && error.name === 'AbortError')) return translate(error, 'unavailable')
  // While site data is being cleared (Chromium 156).
  const message = 'The local database was closed while it opened: try again.'
  return new StorageError('closed', message, { cause: error, retryable: true })
}

/** Why a transaction failed: the engine's own errors as a StorageError, what its body threw as it was thrown. */
export function transactionFailure(error: unknown): unknown {
  return translate(error, 'aborted')
}

/** `retryable`: the engine closed it by itself, and another one can be opened. */
export function closedConnection(retryable: boolean, cause?: unknown): StorageError {
  const advice = retryable ? '' : ': reload to store again'
  const message = `This connection to the local database is closed${advice}.`
  return new StorageError('closed', message, { cause, retryable })
}

function translate(error: unknown, otherwise: Code): unknown {
  if (!(error instanceof DOMException)) return error
  const { name, message } = error
  const [code, what] = meanings[name] ?? [otherwise, 'The local database failed']
  return new StorageError(code, `${what} (${name}: ${message}).`, { cause: error })
}
