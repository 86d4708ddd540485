import type { PostgresPool, PostgresPoolClient } from 'kysely'
import type { Pool } from 'pg'
import { withDeadline } from '../../../base/deadline.ts'
import type { Clock } from '../../../base/environment.ts'
import { NetworkError, toError } from '../../../base/errors.ts'
import { sha256 } from '../../sha256.ts'
import { isReadOnly, isTemporary } from './sql-state.ts'

export interface NetworkErrorOptions {
  readonly clock: Clock
  /** Whether connections prepare each statement with parameters once, and then reuse it. */
  readonly prepared: boolean
  /** The time limit of a statement, in ms. */
  readonly answerMs: number
}

/**
 * Wraps `pool` so that temporary failures become NetworkErrors. A connection whose statement is not answered in time is
 * discarded, because the outcome of that statement is unknown. A connection to a read-only server is discarded too:
 * another server may have taken over.
 */
export function withNetworkErrors(
  pool: Pool,
  { clock, prepared, answerMs }: NetworkErrorOptions,
): PostgresPool {
  return {
    async connect() {
      const client = await pool.connect().catch(fail)
      let late: NetworkError | undefined
      let wasReadOnly = false
      const query = async (text: string, values: unknown[]) => {
        if (late) throw late
        const name = prepared && values.length > 0 ? { name: sha256(text) } : undefined
        const answer = client.query({ ...name, text, values }).catch((error) => {
          wasReadOnly ||= isReadOnly(error)
          return fail(error)
        })
        return withDeadline(clock, answerMs, answer, () => {
          late = new NetworkError('timeout', `PostgreSQL did not answer within ${answerMs} ms.`)
          return late
        })
      }
      const release = () => client.release(late !== undefined || wasReadOnly)
      return { query, release } as unknown as PostgresPoolClient
    },
    end: () => pool.end(),
  }
}

function fail(error: unknown): never {
  if (!isTemporary(error)) throw error
  const reason = toError(error).message.replace(/\.$/, '')
  throw new NetworkError('unreachable', `PostgreSQL is not available: ${reason}.`, { cause: error })
}
