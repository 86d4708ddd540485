import type { Pool } from 'pg'
import { expect, test } from 'vitest'
import { reaching } from '../../src/server/log/sql/reach.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

/** What comes of a statement that the server answers with an error of these fields. */
async function refusedWith(fields: object): Promise<unknown> {
  const query = () => Promise.reject(Object.assign(new Error('too many notifications'), fields))
  const pool = { connect: async () => ({ query, release() {} }) } as unknown as Pool
  const reached = reaching(pool, { clock: new VirtualClock(), prepared: false, answerMs: 1_000 })
  const client = await reached.connect()
  return client.query('commit', []).catch((error: unknown) => error)
}

test('a queue of notifications that is full passes, where another limit of the server is for good', async () => {
  // PostgreSQL's own fields; to fill the queue takes 8 GB.
  const full = { code: '54000', file: 'async.c', routine: 'PreCommit_Notify' }
  expect(await refusedWith(full)).toMatchObject({ name: 'NetworkError', retryable: true })
  const index = { code: '54000', file: 'nbtutils.c', routine: '_bt_check_third_page' }
  expect(await refusedWith(index)).toMatchObject(index)
})
