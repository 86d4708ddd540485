import { ValidationError } from '../base/errors.ts'
import type { RowSource } from '../protocol/fold.ts'
import type { Replica } from '../records/replica.ts'

/** The rows as they are shown, for a transaction to write on. Throws a ValidationError, `not_loaded`, for those that are not yet. */
export function rowsToWrite(replica: Replica, use: (t: string) => void): RowSource {
  return {
    of(t) {
      use(t)
      if (replica.rows.has(t)) return replica.shown.of(t)
      const reason = `its records are not loaded yet; await \`client.load('${t}')\` before you write`
      throw new ValidationError(t, '', reason, { code: 'not_loaded', retryable: true })
    },
  }
}
