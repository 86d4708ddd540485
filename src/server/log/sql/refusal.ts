import { backoffMs } from '../../../base/backoff.ts'
import { codeOf, isSyncError, NetworkError } from '../../../base/errors.ts'
import type { Clock, Random } from '../../../base/world.ts'
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
        const message = `The database gave way to others ${failures} times.`
        throw new NetworkError('timeout', message, { cause: error })
      }
      const waitMs = backoffMs(failures, random.number(), pace)
      await new Promise<void>((resolve) => clock.after(waitMs, resolve))
    }
  }
}

/** Errors of data, of constraints, and of limits (PostgreSQL, appendix A: classes 22, 23 and 54): as wrong later as now. */
function isRefusal(error: unknown): boolean {
  return /^(22|23|54)/.test(stateOf(error))
}

function isPassing(error: unknown): boolean {
  const said = isSyncError(error, 'NetworkError') ? error.cause : error
  return /^(40|55P03)/.test(stateOf(said))
}

/** Says nothing of what the database says, which may quote the data. */
function refusalOf(error: unknown): WriteRejectedError {
  return new WriteRejectedError('invalid', `The database refuses it, with SQLSTATE ${stateOf(error)}.`)
}

/** The SQLSTATE of `error`; '' where it has none. Codes of Node's look alike, and begin with an E. */
export function stateOf(error: unknown): string {
  const code = codeOf(error)
  return /^[^E][0-9A-Z]{4}$/.test(code) ? code : ''
}
