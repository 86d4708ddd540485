import { Client } from 'pg'
import { afterEach, describe, expect, test } from 'vitest'
import { memoryStore, SyncClient, silentLogger } from '../../src/index.ts'
import { openSqlLog, serve } from '../../src/server/index.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { runPostgres } from '../support/postgres.ts'
import { openTeam, type Team, type TeamOptions, tables } from './team.ts'

const postgres = ownPostgres()
const teams: Team[] = []

afterEach(async () => {
  for (const team of teams.splice(0)) await team.close()
})

async function open({ on = postgres, ...options }: Partial<TeamOptions> & { on?: typeof postgres } = {}) {
  const team = await openTeam('PostgreSQL', { name: 'operation', ...options, postgres: on })
  teams.push(team)
  await team.service.ready()
  const [{ name = '' } = {}] = await team.run('select current_database() as name')
  return { ...team, address: await on.database(String(name)) }
}

const insert = (id: string, title: string) => ({ op: 'i', t: 'Issue', id, p: { teamId: 'red', title } })
const update = (id: string, title: string) => ({ op: 'u', t: 'Issue', id, p: { title } })
const titlesOf = async (team: Team) =>
  Object.fromEntries((await team.rows('ann')).map(({ id, p }) => [id, p.title]))

test('a service with an earlier mapping only reads, while it runs and after a restart', async () => {
  const team = await open()
  const { Issue } = tables
  const newer = { ...tables, Issue: { ...Issue, fields: [...Issue.fields, 'internal'] } }
  const log = await openSqlLog(team.address, { tables: newer })
  await log.attach('teamId')
  await expect(team.send('ann', [insert('a', 'One')])).rejects.toThrow(/^503/)

  const restarted = await openSqlLog(team.address, { tables })
  await restarted.claim('teamId')
  await expect(
    restarted.write([{ ...insert('a', 'One'), op: 'i' }], () => ({ after: undefined, changes: [] })),
  ).rejects.toThrow(/The attached tables have a newer mapping than this service/)
  expect(await team.run('select from issues')).toEqual([])

  await team.run("insert into issues (id, team_id, title, internal) values ('b', 'red', 'Two', 'New')")
  await log.claim('teamId')
  await expect.poll(() => team.rows('ann')).toMatchObject([{ id: 'b', p: { title: 'Two', internal: 'New' } }])
  await log.close()
  await restarted.close()
})

test('a table that somebody else has locked, as ALTER TABLE does, stops only writes to it', async () => {
  const team = await open()
  const other = new Client({ connectionString: team.address })
  await other.connect()
  await other.query('begin; lock table comments in access exclusive mode')
  await team.send('ann', [insert('a', 'One')])
  expect(await titlesOf(team)).toEqual({ a: 'One' })
  await other.end()
})

test('an open transaction of somebody else delays only writes to its rows', async () => {
  const team = await open()
  await team.run("insert into issues (id, team_id, title) values ('a', 'red', 'One'), ('b', 'red', 'Two')")
  const forgetful = new Client({ connectionString: team.address })
  await forgetful.connect()
  await forgetful.query("begin; update issues set title = 'Forgotten' where id = 'a'")

  const waiting = team.send('ann', [update('a', 'Uno')], { id: 'again' })
  waiting.catch(() => {})
  await team.run("update issues set title = 'Due' where id = 'b'")
  await expect.poll(() => titlesOf(team)).toEqual({ a: 'One', b: 'Due' })
  expect(
    await team.send('ben', [{ ...insert('c', 'Three'), p: { teamId: 'blue', title: 'Three' } }]),
  ).toMatchObject({
    sid: expect.any(Number),
  })
  expect(await team.send('ann', [update('b', 'Deux')])).toMatchObject({ sid: expect.any(Number) })
  await expect.poll(() => titlesOf(team)).toEqual({ a: 'One', b: 'Deux', c: 'Three' })

  await expect(waiting).rejects.toThrow(/^503/)
  await forgetful.query('commit')
  await forgetful.end()
  expect(await team.send('ann', [update('a', 'Uno')], { id: 'again' })).toMatchObject({
    sid: expect.any(Number),
  })
  expect(await titlesOf(team)).toMatchObject({ a: 'Uno' })
})

test('the time for many changes does not grow with the square of their number', async () => {
  const team = await open({ log: { maxWaitMs: 3_000 } })
  await team.run(
    "insert into issues (id, team_id, title) select n, 'red', 'One' from generate_series(1, 20000) n",
  )
  await expect.poll(() => team.rows('ann')).toHaveLength(20_000)
  const since = await team.position()
  // A session keeps the plans that it has made for the first statement.
  await team.run(`
    set statement_timeout = 5000;
    update issues set title = 'First' where id = '1';
    update issues set title = 'Many' where id::int <= 9000`)
  await expect.poll(async () => (await team.frames('ann', since)).length).toBeGreaterThanOrEqual(9_000)
  const later = await team.position()
  // Many single keys wait, beside many records, and the database has no statistics.
  await team.run(`do $$ begin
    for n in 1..2000 loop update issues set title = 'Single' where id = n::text; end loop;
  end $$`)
  await expect.poll(async () => (await team.frames('ann', later)).length).toBe(2_000)
})

test('clients converge with rows that `psql` copies in, by frames or by a snapshot', async () => {
  const team = await open()
  const { url, close } = await serve(team.service, { port: 0 })
  const options = { token: 'ann', identity: 'ann', store: memoryStore(), logger: silentLogger }
  const client = new SyncClient({ baseUrl: url, ...options })
  await client.start()
  const copy = (from: number, to: number) => {
    const lines = Array.from({ length: to - from }, (_, n) => `${from + n}\tred\tIssue ${from + n}\n`)
    const command = 'copy issues (id, team_id, title) from stdin'
    runPostgres('psql', ['--dbname', team.address, '--no-psqlrc', '--command', command], lines.join(''))
  }
  copy(0, 500)
  await expect.poll(() => client.all('Issue').length).toBe(500)
  copy(500, 11_000)
  await expect.poll(() => client.all('Issue').length).toBe(11_000)
  expect(client.all('Issue').every(({ id, title }) => title === `Issue ${id}`)).toBe(true)
  await client.close()
  await close()
})

describe('with `max_prepared_transactions` above 0', () => {
  const own = ownPostgres('max_prepared_transactions=5')

  test('changes are recorded without a notification, and those of a prepared transaction once it commits', async () => {
    const team = await open({ on: own })
    const insertion = (id: string) =>
      `insert into issues (id, team_id, title) values ('${id}', 'red', '${id}')`
    const notices: unknown[] = []
    const listener = new Client({ connectionString: team.address })
    listener.on('notification', ({ payload }) => notices.push(payload))
    await listener.connect()
    await listener.query('listen instep')
    await team.run(`begin; ${insertion('a')}; prepare transaction 'one'`, insertion('b'))
    await expect.poll(() => titlesOf(team)).toEqual({ b: 'b' })
    await team.run("commit prepared 'one'")
    await expect.poll(() => titlesOf(team)).toEqual({ a: 'a', b: 'b' })
    expect(notices).not.toContain('change')
    await listener.end()
  })
})
