import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import { insert } from '../server/harness.ts'
import { type Postgres, startPostgres } from '../support/postgres.ts'
import { asService, idsOf } from './judge.ts'

let postgres: Postgres

beforeAll(async () => {
  postgres = await startPostgres(['synchronous_commit=off', 'wal_writer_delay=10s', 'autovacuum=off'])
})

afterAll(() => postgres.stop())

test('an answered write survives a crash of a PostgreSQL that does not wait for the disk by default', async () => {
  const address = await postgres.database('answered')
  const before = await openSqlLog(address)
  await before.write([insert('1')], asService)
  await before.write([insert('2')], asService)
  await postgres.crash()
  await before.close()
  const after = await openSqlLog(address)
  expect([(await after.position()).head, await idsOf(after)]).toEqual([2, ['1', '2']])
  await after.close()
})
