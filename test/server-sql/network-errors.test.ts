import type { Pool } from 'pg'
import { expect, test } from 'vitest'
import { withNetworkErrors } from '../../src/server/log/sql/network-errors.ts'
import { VirtualClock } from '../support/virtual.ts'

/** What comes of a statement that the server answers with an error of these fields. */
async function refusedWith(fields: object): Promise<unknown> {
  const query = () => Promise.reject(Object.assign(new Error('too many notifications'), fields))
  const pool = { connect: async () => ({ query, release() {} }) } as unknown as Pool
  const reached = withNetworkErrors(pool, { clock: new VirtualClock(), prepared: false, answerMs: 1_000 })
  const client = await reached.connect()
  return client.query('commit', []).catch((error: unknown) => error)
}

test('a full queue of notifications is a temporary failure, and another limit of the server is not', async () => {
  // PostgreSQL's own fields; to fill the queue takes 8 GB.
  const full = { code: '54000', file: 'async.c', routine: 'PreCommit_Notify' }
  expect(await refusedWith(full)).toMatchObject({ name: 'NetworkError', retryable: true })
  const index = { code: '54000', file: 'nbtutils.c', routine: '_bt_check_third_page' }
  expect(await refusedWith(index)).toMatchObject(index)
})

test('a connection that does not answer in time is discarded', async () => {
  const clock = new VirtualClock()
  const asked: string[] = []
  const released: unknown[] = []
  const client = {
    query: ({ text }: { text: string }) => {
      asked.push(text)
      return new Promise(() => {})
    },
    release: (isGivenUp: boolean) => released.push(isGivenUp),
  }
  const pool = { connect: async () => client } as unknown as Pool
  const reached = await withNetworkErrors(pool, { clock, prepared: false, answerMs: 1_000 }).connect()
  const late = expect(reached.query('begin', [])).rejects.toMatchObject({ code: 'timeout' })
  await clock.advance(1_000)
  await late
  const next = expect(reached.query('rollback', [])).rejects.toMatchObject({ code: 'timeout' })
  await clock.advance(1_000)
  await next
  reached.release()
  expect([asked, released]).toEqual([['begin'], [true]])
})
