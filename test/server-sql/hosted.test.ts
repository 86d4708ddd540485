import { expect, test } from 'vitest'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import { recorder } from '../server/harness.ts'
import { ownPostgres } from '../support/own-postgres.ts'

const postgres = ownPostgres()

/** The address of a PostgreSQL that says `state` when it is asked for its timeline. */
async function silent(state: string): Promise<string> {
  const name = `state_${state.toLowerCase()}`
  const address = await postgres.database(name)
  await postgres.run(
    name,
    `create schema hosted; alter database ${name} set search_path = hosted, pg_catalog, public;
     create function hosted.pg_current_wal_lsn() returns pg_lsn language plpgsql as
       $$ begin raise 'not for you' using errcode = '${state}'; end $$`,
  )
  return address
}

test.each([
  ['is not allowed to return', '42501'],
  ['has no function for', '42883'],
  ['does not support returning, as some hosted ones,', '0A000'],
])('a PostgreSQL that %s its timeline is used, with a warning', async (_, state) => {
  const address = await silent(state)
  const { logger, lines } = recorder()
  const log = await openSqlLog(address, { logger })
  expect((await log.position()).history).toMatch(/^[\da-f-]{36}:\d+:\d+:\d+$/)
  expect(lines).toEqual([expect.stringMatching(/another server takes its place.+not for you/)])
  await log.close()
})

test('a PostgreSQL that fails to return its timeline is not used without it, but tried again', async () => {
  const { logger, lines } = recorder()
  await expect(openSqlLog(await silent('55000'), { logger })).rejects.toMatchObject({
    name: 'NetworkError',
    retryable: true,
  })
  expect(lines).toEqual([])
})

test('the name of a history contains its tables, its server and the timeline, besides the stored name', async () => {
  const log = await openSqlLog(await postgres.database('named'))
  const [row] = await postgres.run(
    'named',
    `select history || ':' || d.oid || ':' || 'instep_state'::regclass::oid || ':' || m.xmin || ':' || system_identifier || ':0000000' || timeline_id as name
      from instep_state, pg_control_system(), pg_control_checkpoint(), pg_database d, instep_migration m
      where d.datname = 'named' and m.name = '001'`,
  )
  expect((await log.position()).history).toBe(row?.name)
  await log.close()
})
