import type { PostgresPool, PostgresPoolClient } from 'kysely'
import type { Pool } from 'pg'
import { withDeadline } from '../../../base/deadline.ts'
import type { Clock } from '../../../base/environment.ts'
import { NetworkError, toError } from '../../../base/errors.ts'
import { sha256 } from '../../sha256.ts'
import { isAway, isOfReadOnly } from './refusal.ts'

export interface ReachOptions {
  readonly clock: Clock
  /** Whether each connection reads a statement with parameters once, for all times that it is asked. */
  readonly prepared: boolean
  /** How long an answer may take, in ms. */
  readonly answerMs: number
}

/**
 * `pool`, whose failures that pass by themselves are NetworkErrors. A connection that gives no answer in time is given up:
 * whether its last statement was done is not known. So is one to a server that takes no writes, where another may by now.
 */
export function reaching(pool: Pool, { clock, prepared, answerMs }: ReachOptions): PostgresPool {
  return {
    async connect() {
      const client = await pool.connect().catch(fail)
      let late: NetworkError | undefined
      let isReadOnly = false
      const query = async (text: string, values: unknown[]) => {
        if (late) throw late
        const name = prepared && values.length > 0 ? { name: sha256(text) } : undefined
        const answer = client.query({ ...name, text, values }).catch((error) => {
          isReadOnly ||= isOfReadOnly(error)
          return fail(error)
        })
        return withDeadline(clock, answerMs, answer, () => {
          late = new NetworkError('timeout', `PostgreSQL gives no answer in ${answerMs} ms.`)
          return late
        })
      }
      const release = () => client.release(late !== undefined || isReadOnly)
      return { query, release } as unknown as PostgresPoolClient
    },
    end: () => pool.end(),
  }
}

function fail(error: unknown): never {
  if (!isAway(error)) throw error
  const reason = toError(error).message.replace(/\.$/, '')
  throw new NetworkError('unreachable', `PostgreSQL does not answer now: ${reason}.`, { cause: error })
}
