import type { PostgresPool, PostgresPoolClient } from 'kysely'
import { NetworkError, toError } from '../../../base/errors.ts'
import { stateOf } from './refusal.ts'

/** `pool`, whose failures that pass by themselves are NetworkErrors. */
export function reaching(pool: PostgresPool): PostgresPool {
  return {
    async connect() {
      const client = await pool.connect().catch(fail)
      const query = (text: string, parameters: readonly unknown[]) =>
        client.query(text, parameters).catch(fail)
      return { query, release: () => client.release() } as PostgresPoolClient
    },
    end: () => pool.end(),
  }
}

/**
 * No connection is to be had or it is lost, which comes without a SQLSTATE; or the server says so itself (PostgreSQL,
 * appendix A: classes 08, 53 and 57).
 */
function fail(error: unknown): never {
  if (!/^(08|53|57|$)/.test(stateOf(error))) throw error
  const reason = toError(error).message.replace(/\.$/, '')
  throw new NetworkError('unreachable', `PostgreSQL does not answer now: ${reason}.`, { cause: error })
}
