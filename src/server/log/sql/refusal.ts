import { backoffMs } from '../../../base/backoff.ts'
import type { Clock, Random } from '../../../base/world.ts'
import { WriteRejectedError } from '../rejection.ts'

const mostTries = 5
const pace = { baseMs: 20, capMs: 500 }

/**
 * Runs `write`, again where the database gave way to another transaction (SQLSTATE class 40 and 55P03), which leaves
 * nothing behind. Throws a WriteRejectedError where it refuses what is written.
 */
export async function retried<T>(
  write: () => Promise<T>,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await write()
    } catch (error) {
      if (isRefusal(error)) throw refusalOf(error)
      if (!isPassing(error) || failures === mostTries) throw error
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
  return /^(40|55P03)/.test(stateOf(error))
}

/** Says nothing of what the database says, which may quote the data. */
function refusalOf(error: unknown): WriteRejectedError {
  return new WriteRejectedError('invalid', `The database refuses it, with SQLSTATE ${stateOf(error)}.`)
}

export function stateOf(error: unknown): string {
  const isError = error instanceof Error && 'code' in error
  return isError && typeof error.code === 'string' && error.code.length === 5 ? error.code : ''
}
