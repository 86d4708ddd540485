import { Client } from 'pg'
import { expect, test } from 'vitest'
import { createSyncService } from '../../src/server/index.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { VirtualClock } from '../support/virtual.ts'
import { kinds, openTeam, type Team } from './team.ts'

/*
 * A column gets another type while the service runs. The service looks for that every 2.5 s, and never on a virtual
 * clock that goes on by less. What it records before must be right as well: the text `7` of a column that is an integer
 * now would stay until the row changes again.
 */

const postgres = ownPostgres()
const soon = { timeout: 10_000, interval: 100 }
const tables = { Part: { table: 'parts', id: 'id', owner: 'team', fields: ['size', 'note'] } }
const schema = ['create table parts (id text primary key, team text not null, size text, note text)']
const toInteger = 'alter table parts alter column size type int using size::int'

const parts = async (team: Team) => {
  const rows = await team.rows('ann')
  return Object.fromEntries(rows.map(({ id, p }) => [id, p.size]))
}

test.each(kinds)('on %s, a row is read by the type that its column has now', async (kind) => {
  const log = { tables, clock: new VirtualClock() }
  const team = await openTeam(kind, { postgres, name: 'columns', schema, log })
  await team.service.ready()
  await team.run(toInteger, "insert into parts values ('a', 'red', 7)")
  await expect.poll(() => team.frames('ann'), soon).toMatchObject([{ id: 'a', p: { size: 7 } }])
  await team.close()
})

test.each(kinds)("on %s, a client's write shows the type that a column has now", async (kind) => {
  const clock = new VirtualClock()
  const team = await openTeam(kind, { postgres, name: 'columns', schema, log: { tables, clock } })
  await team.service.ready()
  await team.run("insert into parts values ('a', 'red', '7')")
  await expect.poll(() => parts(team), soon).toEqual({ a: '7' })
  await team.run(toInteger)
  let verdict: object | undefined
  const sent = team.send('ann', [{ op: 'u', t: 'Part', id: 'a', p: { note: 'Seen' } }])
  void sent.then((result) => {
    verdict = result
  })
  // The write may be tried again after a pause, while the changes are already recorded: the clock goes on until both are.
  await expect
    .poll(() => clock.advance(20).then(() => verdict), soon)
    .toMatchObject({ sid: expect.any(Number) })
  await expect.poll(() => clock.advance(20).then(() => parts(team)), soon).toEqual({ a: 7 })
  await team.close()
})

test('rows that are recorded before a look at their table has ended are read by the type that a column has now', async () => {
  const team = await openTeam('PostgreSQL', { postgres, name: 'columns', schema, log: { tables } })
  await team.service.ready()
  await team.run("insert into parts values ('a', 'red', '7')")
  await expect.poll(() => parts(team), soon).toEqual({ a: '7' })
  const [{ name = '' } = {}] = await team.run('select current_database() as name')
  const other = new Client(await postgres.database(String(name)))
  await other.connect()
  // The look puts the keys of all rows into the queue, and then waits for this row.
  await other.query('begin; select from instep_table for update')
  await team.run(toInteger)
  const waiting =
    "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%instep_table%'"
  await expect.poll(() => team.run(waiting), soon).toHaveLength(1)
  await expect.poll(() => team.run('select from instep_change'), soon).toEqual([])
  await other.query('commit')
  await other.end()
  await expect.poll(() => parts(team), soon).toEqual({ a: 7 })
  await team.close()
})

test('a service that has not looked at a table since reads its rows by the type that a column has now', async () => {
  const log = { tables, clock: new VirtualClock() }
  const behind = await openTeam('PostgreSQL', { postgres, name: 'columns', schema, log })
  await behind.service.ready()
  const [{ name = '' } = {}] = await behind.run('select current_database() as name')
  const options = { database: await postgres.database(String(name)), ownerField: 'teamId', tables }
  const other = createSyncService({ ...options, authenticate: async () => null })
  await other.ready()
  await behind.run(toInteger)
  const type = () => behind.run("select columns->>'size' as type from instep_table")
  await expect.poll(type, soon).toEqual([{ type: 'int4' }])
  await other.close()
  await behind.run("insert into parts values ('a', 'red', 7)")
  await expect.poll(() => parts(behind), soon).toEqual({ a: 7 })
  await behind.close()
})
