import { expect, test } from 'vitest'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import { recorder } from '../server/harness.ts'
import { ownPostgres } from '../support/own-postgres.ts'

const postgres = ownPostgres()

test.each([
  ['is not allowed to tell', '42501'],
  ['has no function to tell', '42883'],
  ['has no support to tell, as hosted ones,', '0A000'],
])('a PostgreSQL that %s its timeline is used, with a warning', async (_, state) => {
  const name = `state_${state.toLowerCase()}`
  const address = await postgres.database(name)
  await postgres.run(
    name,
    `create schema hosted; alter database ${name} set search_path = hosted, pg_catalog, public;
     create function hosted.pg_current_wal_lsn() returns pg_lsn language plpgsql as
       $$ begin raise 'not for you' using errcode = '${state}'; end $$`,
  )
  const { logger, lines } = recorder()
  const log = await openSqlLog(address, { logger })
  expect((await log.position()).history).toMatch(/^[\da-f-]{36}$/)
  expect(lines).toEqual([expect.stringMatching(/another server takes its place.+not for you/)])
  await log.close()
})
