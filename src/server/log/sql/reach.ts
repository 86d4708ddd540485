import type { PostgresPool, PostgresPoolClient } from 'kysely'
import type { Pool } from 'pg'
import { NetworkError, toError } from '../../../base/errors.ts'
import { sha256 } from '../sha256.ts'
import { stateOf } from './refusal.ts'

/**
 * `pool`, whose failures that pass by themselves are NetworkErrors. With `prepared`, each of its connections reads a
 * statement with parameters once, for all times that it is asked.
 */
export function reaching(pool: Pool, prepared: boolean): PostgresPool {
  return {
    async connect() {
      const client = await pool.connect().catch(fail)
      const query = (text: string, values: unknown[]) => {
        const name = prepared && values.length > 0 ? { name: sha256(text) } : undefined
        return client.query({ ...name, text, values }).catch(fail)
      }
      return { query, release: () => client.release() } as unknown as PostgresPoolClient
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
