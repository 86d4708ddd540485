import { afterEach, describe, expect, test } from 'vitest'
import { openSqlLog, type TableMapping } from '../../src/server/index.ts'
import { ownershipJudge } from '../../src/server/log/ownership.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { kinds, openTeam, type Team, type TeamOptions, tables } from './team.ts'

const postgres = ownPostgres()
const teams: Team[] = []

afterEach(async () => {
  for (const team of teams.splice(0)) await team.close()
})

const mapping = { table: 't', id: 'id', owner: 'team', fields: ['a'] }

/** What cannot be attached: the statements, the mapping, and what is said about it. */
const refusals: readonly [
  what: string,
  statements: readonly string[],
  more: Partial<TableMapping>,
  message: RegExp,
][] = [
  ['no table', [], {}, /`tables.T.table` names the table t, which does not exist/],
  ['a view', ['create view t as select 1 as id'], {}, /which is a view; only tables can be attached/],
  [
    'a materialized view',
    ['create materialized view t as select 1 as id'],
    {},
    /which is a materialized view/,
  ],
  [
    'a parent of inheritance',
    ['create table t (id int primary key, team text, a text)', 'create table child () inherits (t)'],
    {},
    /which inherits or is inherited from/,
  ],
  [
    'a partition',
    [
      'create table whole (id int primary key, team text, a text) partition by hash (id)',
      'create table t partition of whole for values with (modulus 1, remainder 0)',
    ],
    {},
    /which is a partition; name the partitioned table/,
  ],
  [
    'a key of two columns',
    ['create table t (id int, team text, a text, primary key (id, team))'],
    {},
    /the column `id`, which alone is not a key of t/,
  ],
  [
    'no key',
    ['create table t (id int, team text, a text)'],
    {},
    /the column `id`, which alone is not a key of t/,
  ],
  ['a key that may be null', ['create table t (id int unique, team text, a text)'], {}, /which may be null/],
  [
    'a key of another type',
    ['create table t (id timestamptz primary key, team text, a text)'],
    {},
    /a column of the type timestamptz; an id must be a text, a uuid or an integer/,
  ],
  [
    'a column that is not there',
    ['create table t (id int primary key, team text, a text)'],
    { fields: ['b'] },
    /names the column `b`, which t does not have/,
  ],
  [
    'a column without a conversion',
    ['create table t (id int primary key, team text, a bytea)'],
    {},
    /the column `a` of the type bytea; no conversion to JSON exists/,
  ],
  [
    'an owner that is no name',
    ['create table t (id int primary key, team float8, a text)'],
    {},
    /a column of the type float8, which cannot name an owner/,
  ],
  [
    'a number that is none',
    ['create table t (id int primary key, team text, a text)'],
    { fields: [{ a: { column: 'a', as: 'number' } }] },
    /only an int8 column takes `as: 'number'`/,
  ],
]

describe('a table that cannot be attached is refused by name', () => {
  test.each(refusals)('%s', async (_, statements, more, message) => {
    const log = { tables: { T: { ...mapping, ...more } } }
    const team = await openTeam('PostgreSQL', {
      postgres,
      name: 'refusals',
      schema: statements,
      attach: false,
      log,
    })
    teams.push(team)
    await expect(team.log.attach('teamId')).rejects.toThrow(message)
    expect(await team.run('select * from instep_table')).toEqual([])
  })
})

test('a table with rows that a policy would hide is refused', async () => {
  const team = await openTeam('PostgreSQL', { postgres, name: 'policies', attach: false })
  teams.push(team)
  await team.run(
    'create role limited login',
    'alter table issues enable row level security',
    'grant all on all tables in schema public to limited; grant create on schema public to limited',
    'alter table comments owner to limited',
  )
  const [{ name = '' } = {}] = await team.run('select current_database() as name')
  const address = (await postgres.database(String(name))).replace('//postgres@', '//limited@')
  const log = await openSqlLog(address, { tables })
  await expect(log.attach('teamId')).rejects.toThrow(/if the table has policies/)
  await log.close()
})

describe.each(kinds)('on %s', (kind) => {
  const open = async (options: Partial<TeamOptions> = {}) => {
    const team = await openTeam(kind, { postgres, name: 'attach', ...options })
    teams.push(team)
    return team
  }

  test('a type with records of its own is refused', async () => {
    const team = await open({ attach: false })
    const judge = ownershipJudge({ ownerField: 'teamId', models: undefined })
    await team.log.write([{ op: 'i', t: 'Issue', id: 'a', p: { teamId: 'red' } }], judge)
    await expect(team.log.attach('teamId')).rejects.toThrow(
      /`tables.Issue` names a type that has records in Instep already/,
    )
  })

  test('a service does not start with a mapping that is not attached', async () => {
    const team = await open({ attach: false })
    await expect(team.service.ready()).rejects.toThrow(/`tables.Comment` is not attached with this mapping/)
    await team.log.attach('teamId')
    await team.service.ready()
  })

  test('a service without the mapping of an attached type cannot write its records', async () => {
    const team = await open()
    await team.service.ready()
    const { Comment } = tables
    if (kind === 'PGlite') return
    const [{ name = '' } = {}] = await team.run('select current_database() as name')
    const log = await openSqlLog(await postgres.database(String(name)), { tables: { Comment } })
    await log.claim('teamId')
    const judge = ownershipJudge({ ownerField: 'teamId', models: undefined })
    const ops = [{ op: 'i', t: 'Issue', id: 'a', p: { teamId: 'red', title: 'One' } }] as const
    await expect(log.write(ops, judge)).rejects.toThrow(/The type Issue is attached to a table/)
    await log.close()
  })

  test('a disabled trigger keeps the service from starting, and is repaired by attaching again', async () => {
    const team = await open()
    await team.run('alter table issues disable trigger instep_update')
    await expect(team.service.ready()).rejects.toThrow(
      /whose triggers are missing or disabled; run `instep attach` again/,
    )
    await team.log.attach('teamId')
    await team.service.ready()
  })

  test('existing rows are recorded, and attaching again records changes in between', async () => {
    const team = await open({ attach: false })
    await team.run(
      "insert into issues (id, team_id, title) select n, 'red', 'Old' from generate_series(1, 6000) n",
    )
    await team.log.attach('teamId')
    expect(await team.log.checkTables('teamId')).toMatchObject([
      { type: 'Comment', rows: 0 },
      { type: 'Issue', rows: 6_000, waiting: 0, differing: 0, fault: undefined },
    ])
    await team.log.detach('teamId')
    await team.run("update issues set title = 'New' where id = '1'", "delete from issues where id = '2'")
    await team.log.attach('teamId')
    await team.service.ready()
    expect((await team.rows('ann')).find(({ id }) => id === '1')?.p).toMatchObject({ title: 'New' })
    expect(await team.rows('ann')).toHaveLength(5_999)
  })

  test('an owner may have a prefix, which clients write and the column omits', async () => {
    const Issue = { ...tables.Issue, owner: { column: 'team_id', prefix: 're' } }
    const team = await open({ log: { tables: { Issue } } })
    await team.service.ready()
    await team.run("insert into issues (id, team_id, title) values ('a', 'd', 'One')")
    await expect.poll(() => team.rows('ann')).toMatchObject([{ id: 'a', p: { teamId: 'red' } }])
    await team.send('ann', [{ op: 'i', t: 'Issue', id: 'b', p: { title: 'Two' } }])
    expect(await team.run("select team_id from issues where id = 'b'")).toEqual([{ team_id: 'd' }])
    const refused = await team.send('ann', [{ op: 'u', t: 'Issue', id: 'b', p: { teamId: 'blue' } }])
    expect(refused).toMatchObject({ error: { code: 'invalid' } })
  })

  test('changes of partitions are recorded, also by statements that name one', async () => {
    const team = await open({
      log: { tables: { T: mapping } },
      schema: [
        'create table t (id int primary key, team text, a text) partition by range (id)',
        'create table low partition of t for values from (0) to (10)',
        'create table high partition of t for values from (10) to (20)',
      ],
    })
    await team.service.ready()
    await team.run("insert into t values (1, 'red', 'One')", "insert into high values (11, 'red', 'Eleven')")
    await expect.poll(async () => (await team.rows('ann')).map(({ id }) => id).sort()).toEqual(['1', '11'])
    await team.run('update t set id = 12 where id = 1', 'delete from high where id = 11')
    await expect.poll(async () => (await team.rows('ann')).map(({ id }) => id)).toEqual(['12'])
    await team.send('ann', [{ op: 'u', t: 'T', id: '12', p: { a: 'Twelve' } }])
    expect(await team.run('select * from t')).toEqual([{ id: 12, team: 'red', a: 'Twelve' }])
  })
})
