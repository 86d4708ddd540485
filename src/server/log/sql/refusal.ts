import { backoffMs } from '../../../base/backoff.ts'
import type { Clock, Random } from '../../../base/environment.ts'
import { codeOf, isSyncError, NetworkError, toError } from '../../../base/errors.ts'
import { isObject } from '../../../protocol/json.ts'
import { WriteRejectedError } from '../rejection.ts'

const maxTries = 5
const pace = { baseMs: 20, capMs: 500 }

/**
 * Runs `write`, and runs it again if the database rolled it back in favour of another transaction. Throws a
 * WriteRejectedError if the database refuses the data, and a NetworkError after 5 tries or after `maxMs`.
 */
export async function withRetries<T>(
  write: () => Promise<T>,
  { clock, random, maxMs }: { readonly clock: Clock; readonly random: Random; readonly maxMs: number },
): Promise<T> {
  const end = clock.now() + maxMs
  for (let failures = 1; ; failures += 1) {
    try {
      return await write()
    } catch (error) {
      if (means(error, 'refused')) throw rejectionOf(error)
      const cause = isSyncError(error, 'NetworkError') ? error.cause : error
      if (!means(cause, 'rolledBack')) throw error
      if (failures === maxTries || clock.now() >= end) {
        const last = toError(error).message
        const message = `The database rolled the write back ${failures} times: ${last}`
        throw new NetworkError('timeout', message, { cause: error })
      }
      const waitMs = backoffMs(failures, random.number(), pace)
      await new Promise<void>((resolve) => clock.after(waitMs, resolve))
    }
  }
}

/** The meaning of SQLSTATEs, by the whole code or by its class, which is its first two characters. */
const states = {
  /** The data breaks a type, a constraint or a limit. A retry would fail as well. */
  refused: ['22', '23', '54'],
  /** The database rolled back in favour of another transaction, or could not get a lock. */
  rolledBack: ['40', '55P03'],
  /** The server is read-only, because another server has taken over or because it has not taken over itself yet. */
  readOnly: ['25006', '55000'],
  /** No connection, no resources, an intervention of an operator, or a transaction that took too long. */
  unavailable: ['08', '53', '57', '25P03', '25P04'],
  /** No room: the disk is full, or the memory or another limit is used up. */
  full: ['53000', '53100', '53200', '53400'],
  /** Not allowed, not found, or not supported (as on Amazon Aurora). */
  denied: ['42501', '42883', '0A000'],
} as const

function means(error: unknown, meaning: keyof typeof states): boolean {
  const state = sqlStateOf(error)
  return states[meaning].some((known) => known === state || known === state.slice(0, 2))
}

/** Whether an error may be temporary: by its SQLSTATE, or because it has none, as without a connection. */
export function isTemporary(error: unknown): boolean {
  const isSaid = means(error, 'unavailable') || means(error, 'rolledBack') || means(error, 'readOnly')
  return isSaid || sqlStateOf(error) === '' || isQueueFull(error)
}

/** Whether the database has no room, as on a full disk. */
export function isFull(error: unknown): boolean {
  return means(isSyncError(error, 'NetworkError') ? error.cause : error, 'full')
}

/**
 * Whether the queue of notifications is full, which a single sleeping session can cause. The SQLSTATE is the same as
 * for data above a limit, so the source file of the error decides.
 */
function isQueueFull(error: unknown): boolean {
  return sqlStateOf(error) === '54000' && isObject(error) && error.file === 'async.c'
}

export function isReadOnlyError(error: unknown): boolean {
  return means(error, 'readOnly')
}

export function isDenied(error: unknown): boolean {
  return means(error, 'denied')
}

/** Does not quote the database's message, which may contain data. */
function rejectionOf(error: unknown): WriteRejectedError {
  return new WriteRejectedError(
    'invalid',
    `The database refused the data with SQLSTATE ${sqlStateOf(error)}.`,
  )
}

/**
 * The SQLSTATE of `error` (PostgreSQL, appendix A), or '' if it has none. The codes of Node look similar, but begin
 * with an E.
 */
export function sqlStateOf(error: unknown): string {
  const code = codeOf(error)
  return /^[^E][0-9A-Z]{4}$/.test(code) ? code : ''
}
