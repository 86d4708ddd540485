import { codeOf, type ErrorCodes, StorageError, toError } from '../base/errors.ts'

type Code = ErrorCodes['StorageError']
type Meaning = readonly [code: Code, what: string]

/**
 * The meaning of SQLite's primary result codes (sqlite.org/rescode.html). Other codes only say that something failed.
 */
const meanings: readonly (readonly [name: string, number: number, meaning: Meaning])[] = [
  ['SQLITE_BUSY', 5, ['timeout', 'Another process has locked the local database']],
  ['SQLITE_CORRUPT', 11, ['unreadable', 'The file of the local database is damaged']],
  ['SQLITE_FULL', 13, ['quota', 'There is no room left for the local database: free some']],
  ['SQLITE_NOTADB', 26, ['unreadable', 'The file of the local database is damaged or is not a database']],
]

/** Converts an error of opening or deleting `file` to a StorageError. */
export function openFailure(error: unknown, file: string): StorageError {
  if (error instanceof StorageError) return error
  const [code, what] = meaningOf(error) ?? [
    'unavailable',
    'The file of the local database cannot be opened or deleted',
  ]
  // The client works in memory and leaves the file as it is.
  if (code === 'unreadable') {
    return new StorageError('unavailable', `${what}: move ${file} away to start with a new file.`, {
      cause: error,
    })
  }
  const isBlocked = code === 'timeout'
  return new StorageError(isBlocked ? 'blocked' : code, `${what} (${toError(error).message}; ${file}).`, {
    cause: error,
    retryable: isBlocked,
  })
}

/** Converts an error of SQLite in a transaction to a StorageError. */
export function transactionFailure(error: unknown): StorageError {
  const [code, what] = meaningOf(error) ?? ['aborted', 'The local database failed']
  return new StorageError(code, `${what} (${toError(error).message}).`, {
    cause: error,
    retryable: code === 'timeout',
  })
}

/**
 * Most libraries set the name of the code, which may be an extended one such as `SQLITE_BUSY_SNAPSHOT`. Node sets its
 * number.
 */
function meaningOf(error: unknown): Meaning | undefined {
  const name = codeOf(error)
  const number = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0
  return meanings.find(([prefix, primary]) => name.startsWith(prefix) || number === primary)?.[2]
}
