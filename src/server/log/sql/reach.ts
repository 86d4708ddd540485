import type { PostgresPool, PostgresPoolClient } from 'kysely'
import type { Pool } from 'pg'
import { withDeadline } from '../../../base/deadline.ts'
import { NetworkError, toError } from '../../../base/errors.ts'
import type { Clock } from '../../../base/world.ts'
import { isObject } from '../../../protocol/json.ts'
import { sha256 } from '../../sha256.ts'
import { stateOf } from './refusal.ts'

/** What a server says that takes no writes, as after another one has taken its place, or before it takes that of another. */
const readOnly = /^(25006|55000)/

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
          isReadOnly ||= readOnly.test(stateOf(error))
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

/**
 * No connection is to be had or it is lost, which comes without a SQLSTATE; or the server says so itself (PostgreSQL,
 * appendix A: classes 08, 53 and 57; that it takes no writes, has ended a transaction that took too long, or has given way
 * to another, as in class 40; or that its queue of notifications is full, which a session that sleeps can do).
 */
function fail(error: unknown): never {
  if (!/^(08|40|53|57|25006|25P03|25P04|55000|55P03|$)/.test(stateOf(error)) && !isFull(error)) throw error
  const reason = toError(error).message.replace(/\.$/, '')
  throw new NetworkError('unreachable', `PostgreSQL does not answer now: ${reason}.`, { cause: error })
}

/** The SQLSTATE is that of data which no server takes; what raises it is the file of notifications. */
function isFull(error: unknown): boolean {
  return stateOf(error) === '54000' && isObject(error) && error.file === 'async.c'
}
