import { type ErrorCodes, StorageError } from '../base/errors.ts'

type Code = ErrorCodes['StorageError']

const noRoom = ['quota', 'There is no room left for the local database: free some'] as const

/** The meaning of IndexedDB errors, by name. Errors of other names have no particular meaning. */
const meanings: { readonly [name: string]: readonly [code: Code, what: string] | undefined } = {
  QuotaExceededError: noRoom,
  // Chromium 156, for a value of more than 64 kB while the disk itself is full.
  DataError: noRoom,
  ConstraintError: ['fenced', 'Another client has written this key'],
  VersionError: ['unavailable', 'The local database was made by a newer version: reload'],
  // The value is lost for good (Indexed Database API 3.0, section 3.1). In Chromium, its file is missing.
  NotReadableError: ['unreadable', 'The local database holds a value that cannot be read'],
}

/** The error where this page can have no database, so that there is none either. */
export function noStorage(cause?: unknown): StorageError {
  return new StorageError('no_storage', 'IndexedDB is blocked, or this is not a browser.', { cause })
}

/** Converts an error of opening or destroying to a StorageError. */
export function openFailure(error: unknown): unknown {
  // Chromium 156 refuses a page whose cookies are blocked with an UnknownError.
  if (error instanceof DOMException && /^SecurityError|denied permission/.test(`${error}`))
    return noStorage(error)
  if (!(error instanceof DOMException && error.name === 'AbortError')) return translate(error, 'unavailable')
  // The browser is clearing site data (Chromium 156).
  const message = 'The local database was closed while it opened: try again.'
  return new StorageError('closed', message, { cause: error, retryable: true })
}

/** Converts an error of IndexedDB in a transaction to a StorageError. Returns an error that the body threw as it is. */
export function transactionFailure(error: unknown): unknown {
  return translate(error, 'aborted')
}

/**
 * The error of a closed connection. `retryable`: the browser closed the connection by itself, and a new one can be
 * opened.
 */
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
