import { codeOf, type ErrorCodes, StorageError, toError } from '../base/errors.ts'

type Code = ErrorCodes['StorageError']
type Meaning = readonly [code: Code, what: string]

/** What SQLite's primary result codes mean (sqlite.org/rescode.html), where they do not just say that something failed. */
const meanings: readonly (readonly [name: string, number: number, meaning: Meaning])[] = [
  ['SQLITE_BUSY', 5, ['timeout', 'Another process holds the local database']],
  ['SQLITE_CORRUPT', 11, ['unreadable', 'The file of the local database is damaged']],
  ['SQLITE_FULL', 13, ['quota', 'There is no room left for the local database: free some']],
  ['SQLITE_NOTADB', 26, ['unreadable', 'The file of the local database is damaged, or is something else']],
]

/** Why `file` did not open, or could not be deleted, as a StorageError. */
export function openFailure(error: unknown, file: string): StorageError {
  if (error instanceof StorageError) return error
  const [code, what] = meaningOf(error) ?? [
    'unavailable',
    'The file of the local database cannot be opened or deleted',
  ]
  // The client begins anew in memory, and leaves the file as it is.
  if (code === 'unreadable') {
    return new StorageError('unavailable', `${what}: move ${file} away to begin another.`, { cause: error })
  }
  const isBlocked = code === 'timeout'
  return new StorageError(isBlocked ? 'blocked' : code, `${what} (${toError(error).message}; ${file}).`, {
    cause: error,
    retryable: isBlocked,
  })
}

/** Why SQLite failed in a transaction, as a StorageError. */
export function transactionFailure(error: unknown): StorageError {
  const [code, what] = meaningOf(error) ?? ['aborted', 'The local database failed']
  return new StorageError(code, `${what} (${toError(error).message}).`, {
    cause: error,
    retryable: code === 'timeout',
  })
}

/** Libraries name the code, an extended one such as `SQLITE_BUSY_SNAPSHOT` included; Node gives its number. */
function meaningOf(error: unknown): Meaning | undefined {
  const name = codeOf(error)
  const number = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0
  return meanings.find(([prefix, primary]) => name.startsWith(prefix) || number === primary)?.[2]
}
