import { sql } from 'kysely'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { resolveEnvironment } from '../../src/base/environment.default.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import { openPostgres } from '../../src/server/log/sql/postgres.ts'
import { insert } from '../server/harness.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { asService, eventually } from './judge.ts'

const postgres = ownPostgres()

test('a write that times out also ends in PostgreSQL, and releases the lock', async () => {
  const log = await openSqlLog(await postgres.database('slow'), { maxWaitMs: 1_000 })
  await postgres.run(
    'slow',
    `create function sleep() returns trigger language plpgsql as $$ begin perform pg_sleep(60); return new; end $$;
    create trigger slow before insert on instep_log for each row when (new.id = 'slow') execute function sleep()`,
  )
  await expect(log.write([insert('slow')], asService)).rejects.toMatchObject({ name: 'NetworkError' })
  await eventually(async () => (await log.write([insert('quick')], asService).catch(() => 0)) === 1, 5_000)
  await log.close()
})

test('`newEpoch` waits for a running write, also if transactions are serializable by default', async () => {
  const address = await postgres.database('serializable')
  await postgres.run(
    'serializable',
    "alter database serializable set default_transaction_isolation = 'serializable'",
  )
  const log = await openSqlLog(address)
  const { history } = await log.position()
  const writer = new Client({ connectionString: address })
  await writer.connect()
  await writer.query('begin; update instep_state set head = 1, horizon = 1')
  const begun = log.newEpoch()
  await eventually(async () => {
    const waiting = await postgres.run('serializable', 'select from pg_locks where not granted')
    return waiting.length === 1
  })
  await writer.query('commit')
  await writer.end()
  await begun
  const after = await log.position()
  expect(after.head).toBe(1)
  expect(after.history).not.toBe(history)
  await log.close()
})

test('a read needs few blocks, and no plan for it is compiled', async () => {
  const { clock, random } = resolveEnvironment()
  const options = { clock, random, logger: silentLogger, maxReaders: 1, maxDeltaReaders: 1 }
  const { close, ...database } = await openPostgres(await postgres.database('plans'), options)
  for (const db of [database.writers, database.followers, database.readers, database.deltas]) {
    expect((await sql`show jit`.execute(db)).rows).toEqual([{ jit: 'off' }])
  }
  await close()
})
