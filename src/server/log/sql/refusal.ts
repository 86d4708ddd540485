import { backoffMs } from '../../../base/backoff.ts'
import { codeOf, isSyncError, NetworkError, toError } from '../../../base/errors.ts'
import type { Clock, Random } from '../../../base/world.ts'
import { isObject } from '../../../protocol/json.ts'
import { WriteRejectedError } from '../rejection.ts'

const mostTries = 5
const pace = { baseMs: 20, capMs: 500 }

/**
 * Runs `write`, again where the database gave way to another transaction (SQLSTATE class 40 and 55P03), which leaves
 * nothing behind. Throws a WriteRejectedError where it refuses what is written, and a NetworkError where it gives way
 * too often, or for longer than `mostMs`.
 */
export async function retried<T>(
  write: () => Promise<T>,
  { clock, random, mostMs }: { readonly clock: Clock; readonly random: Random; readonly mostMs: number },
): Promise<T> {
  const end = clock.now() + mostMs
  for (let failures = 1; ; failures += 1) {
    try {
      return await write()
    } catch (error) {
      if (isRefusal(error)) throw refusalOf(error)
      if (!isPassing(error)) throw error
      if (failures === mostTries || clock.now() >= end) {
        const last = toError(error).message
        const message = `The database gave way to others ${failures} times: ${last}`
        throw new NetworkError('timeout', message, { cause: error })
      }
      const waitMs = backoffMs(failures, random.number(), pace)
      await new Promise<void>((resolve) => clock.after(waitMs, resolve))
    }
  }
}

/** Errors of data, of constraints, and of limits (classes 22, 23 and 54): as wrong later as now. */
function isRefusal(error: unknown): boolean {
  return /^(22|23|54)/.test(stateOf(error))
}

function isPassing(error: unknown): boolean {
  const said = isSyncError(error, 'NetworkError') ? error.cause : error
  return /^(40|55P03)/.test(stateOf(said))
}

/**
 * No connection is to be had or it is lost, which comes without a SQLSTATE; or the server says so itself (classes 08, 53
 * and 57; that it takes no writes, has ended a transaction that took too long, or has given way to another, as in class
 * 40; or that its queue of notifications is full, which one session that sleeps can do).
 */
export function isAway(error: unknown): boolean {
  return /^(08|40|53|57|25006|25P03|25P04|55000|55P03|$)/.test(stateOf(error)) || isFull(error)
}

/** The SQLSTATE is that of data which no server takes; what raises it is the file of notifications. */
function isFull(error: unknown): boolean {
  return stateOf(error) === '54000' && isObject(error) && error.file === 'async.c'
}

/** From a server that takes no writes, as after another one has taken its place, or before it takes that of another. */
export function isOfReadOnly(error: unknown): boolean {
  return /^(25006|55000)/.test(stateOf(error))
}

/** What was asked for is not allowed, not there, or not supported, as Amazon Aurora says. */
export function isDenied(error: unknown): boolean {
  return /^(42501|42883|0A000)/.test(stateOf(error))
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
