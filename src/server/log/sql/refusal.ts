import { backoffMs } from '../../../base/backoff.ts'
import type { Clock, Random } from '../../../base/environment.ts'
import { codeOf, isSyncError, NetworkError, toError } from '../../../base/errors.ts'
import { isObject } from '../../../protocol/json.ts'
import { WriteRejectedError } from '../rejection.ts'

const maxTries = 5
const pace = { baseMs: 20, capMs: 500 }

/**
 * Runs `write`, again where the database gave way to another transaction, which leaves nothing behind. Throws a
 * WriteRejectedError where it refuses what is written, and a NetworkError where it gives way too often, or for longer
 * than `maxMs`.
 */
export async function retried<T>(
  write: () => Promise<T>,
  { clock, random, maxMs }: { readonly clock: Clock; readonly random: Random; readonly maxMs: number },
): Promise<T> {
  const end = clock.now() + maxMs
  for (let failures = 1; ; failures += 1) {
    try {
      return await write()
    } catch (error) {
      if (means(error, 'refused')) throw refusalOf(error)
      const said = isSyncError(error, 'NetworkError') ? error.cause : error
      if (!means(said, 'gaveWay')) throw error
      if (failures === maxTries || clock.now() >= end) {
        const last = toError(error).message
        const message = `The database gave way to others ${failures} times: ${last}`
        throw new NetworkError('timeout', message, { cause: error })
      }
      const waitMs = backoffMs(failures, random.number(), pace)
      await new Promise<void>((resolve) => clock.after(waitMs, resolve))
    }
  }
}

/** Which SQLSTATEs mean what, by the whole code or by its class, which is the first two of its characters. */
const states = {
  /** What is written is wrong for its data, a constraint, or a limit: later as now. */
  refused: ['22', '23', '54'],
  /** The database gave way to another transaction, or could not have a lock. */
  gaveWay: ['40', '55P03'],
  /** The server takes no writes, as after another one has taken its place, or before it takes that of another. */
  readOnly: ['25006', '55000'],
  /** There is no connection or no room, somebody has intervened, or a transaction took too long. */
  away: ['08', '53', '57', '25P03', '25P04'],
  /** What was asked for is not allowed, not there, or not supported, as Amazon Aurora says. */
  denied: ['42501', '42883', '0A000'],
} as const

function means(error: unknown, meaning: keyof typeof states): boolean {
  const state = stateOf(error)
  return states[meaning].some((known) => known === state || known === state.slice(0, 2))
}

/** What may pass by itself: the server says so, or there is no SQLSTATE, as where there is no connection. */
export function isAway(error: unknown): boolean {
  const isSaid = means(error, 'away') || means(error, 'gaveWay') || means(error, 'readOnly')
  return isSaid || stateOf(error) === '' || isFull(error)
}

/**
 * Whether the queue of notifications is full, which one session that sleeps can do. The SQLSTATE is that of data which no
 * server takes; what raises it is the file of notifications.
 */
function isFull(error: unknown): boolean {
  return stateOf(error) === '54000' && isObject(error) && error.file === 'async.c'
}

export function isOfReadOnly(error: unknown): boolean {
  return means(error, 'readOnly')
}

export function isDenied(error: unknown): boolean {
  return means(error, 'denied')
}

/** Says nothing of what the database says, which may quote the data. */
function refusalOf(error: unknown): WriteRejectedError {
  return new WriteRejectedError('invalid', `The database refuses it, with SQLSTATE ${stateOf(error)}.`)
}

/** The SQLSTATE of `error` (PostgreSQL, appendix A); '' where it has none. Codes of Node's look alike, and begin with an E. */
function stateOf(error: unknown): string {
  const code = codeOf(error)
  return /^[^E][0-9A-Z]{4}$/.test(code) ? code : ''
}
