import { ValidationError } from '../base/errors.ts'
import type { RowSource } from '../protocol/fold.ts'
import type { Replica } from '../records/replica.ts'

/**
 * The rows with all optimistic updates, for a transaction to read and write. Throws a ValidationError of code
 * `not_loaded` for a type that is not loaded yet.
 */
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
