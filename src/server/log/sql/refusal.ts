import { backoffMs } from '../../../base/backoff.ts'
import type { Clock, Random } from '../../../base/environment.ts'
import { NetworkError, toError } from '../../../base/errors.ts'
import { WriteRejectedError } from '../rejection.ts'
import { isOfData, sqlStateOf, wasInTheWay } from './sql-state.ts'

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
      if (isOfData(error)) throw rejectionOf(error)
      if (!wasInTheWay(error)) throw error
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

/** Does not quote the database's message, which may contain data. */
function rejectionOf(error: unknown): WriteRejectedError {
  return new WriteRejectedError(
    'invalid',
    `The database refused the data with SQLSTATE ${sqlStateOf(error)}.`,
  )
}
