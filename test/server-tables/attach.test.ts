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
    /`id`, which is only a part of the key \(id, team\) of t, and a record has one id; add a column that is a key alone, as by `alter table t add id uuid not null/,
  ],
  [
    'a key that is a list',
    ['create table t (id int, team text, a text, primary key (id, team))'],
    { id: ['id', 'team'] as unknown as string },
    /`tables.T.id` names several columns, and a record has one id; add a column that is a key alone/,
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
  [
    'a numeric of any length as a number',
    ['create table t (id int primary key, team text, a numeric)'],
    { fields: [{ a: { column: 'a', as: 'number' } }] },
    /the column `a` of the type numeric; .* a numeric column of at most 15 digits, like numeric\(12, 2\): a number in JavaScript holds no more/,
  ],
  [
    'a numeric of more digits than a number has',
    ['create table t (id int primary key, team text, a numeric(16, 2))'],
    { fields: [{ a: { column: 'a', as: 'number' } }] },
    /the column `a` of the type numeric\(16,2\); /,
  ],
  [
    'a type of the application that is named as one of PostgreSQL',
    ['create type public.uuid as (n int)', 'create table t (id int primary key, team text, a public.uuid)'],
    {},
    /the column `a` of the type public.uuid; no conversion/,
  ],
  [
    'a condition on a column that is not there',
    ['create table t (id int primary key, team text, a text)'],
    { where: 'gone is null' },
    /`tables.T.where` is no condition on "public"."t": column "gone" does not exist/,
  ],
  [
    'a condition that the time decides',
    ['create table t (id int primary key, team text, a timestamptz)'],
    { where: 'a > now() -- still' },
    /`tables.T.where` depends on more than the row: functions in index predicate must be marked IMMUTABLE/,
  ],
  [
    'a condition on other rows',
    ['create table t (id int primary key, team text, a text)'],
    { where: 'exists (select from t)' },
    /`tables.T.where` depends on more than the row: cannot use subquery/,
  ],
]

describe.each(kinds)('on %s, a table that cannot be attached is refused by name', (kind) => {
  // Each takes a second. PGlite shows those that depend on more than names.
  const shown = refusals.filter(([what]) => kind === 'PostgreSQL' || /of two|a list|numeric/.test(what))
  test.each(shown)('%s', async (_, statements, more, message) => {
    const log = { tables: { T: { ...mapping, ...more } } }
    const team = await openTeam(kind, {
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

  test('a service starts with a table aside whose trigger is disabled, until the table is attached again', async () => {
    const team = await open()
    await team.run('alter table issues disable trigger instep_update')
    await team.service.ready()
    expect(team.log.faults?.()).toEqual([{ type: 'Issue', kind: 'table', count: 1 }])
    await team.log.attach('teamId')
    await expect.poll(() => team.log.faults?.(), { timeout: 10_000 }).toEqual([])
  })

  test('removing everything of Instep leaves what only has a similar name', async () => {
    const team = await open()
    await team.run(
      'create table instep_orders (id int)',
      "create function instep_total() returns int language sql as 'select 1'",
    )
    await team.log.detachAll()
    const found = await team.run(
      "select relname as name from pg_class where relname like 'instep%' union select proname from pg_proc where proname like 'instep%' order by name",
    )
    expect(found.map(({ name }) => name)).toEqual(['instep_orders', 'instep_total'])
  })

  test('records of a detached type are in Instep alone, so that not everything is removed', async () => {
    const team = await open()
    await team.run("insert into issues (id, team_id, title) values ('a', 'red', 'One')")
    await team.log.attach('teamId')
    await team.log.detach('teamId')
    await expect(team.log.detachAll()).rejects.toThrow(/records of the type Issue, which are in Instep alone/)
    expect(await team.log.read('Issue', 'a')).toMatchObject({ p: { title: 'One' } })
  })

  test('existing rows are recorded, and attaching again records changes in between', async () => {
    const team = await open({ attach: false })
    await team.run(
      "insert into issues (id, team_id, title) select n, 'red', 'Old' from generate_series(1, 6000) n",
    )
    await team.log.attach('teamId')
    const counted =
      "select reltuples::int as count from pg_class where relname in ('issues', 'instep_record')"
    expect(await team.run(counted)).toEqual([{ count: 6_000 }, { count: 6_000 }])
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

  test('a renamed label of an enum is noticed by a repair', async () => {
    const owners = { table: 'owned', id: 'id', owner: 'team', fields: ['team_too'] }
    const team = await open({
      log: { tables: { T: { ...owners, fields: [{ other: 'team_too' }] } } },
      schema: [
        "create type team as enum ('red', 'green')",
        'create table owned (id int primary key, team team, team_too team[])',
        "insert into owned values (1, 'red', '{red}'), (2, 'green', '{green}')",
      ],
    })
    await team.service.ready()
    expect((await team.rows('ann')).map(({ id }) => id)).toEqual(['1'])
    await team.run(
      "alter type team rename value 'red' to 'gone'",
      "alter type team rename value 'green' to 'red'",
    )
    expect(await team.log.checkTables('teamId')).toMatchObject([
      { differing: 2, fault: 'Its columns have changed since it was attached; run `instep attach` again.' },
    ])
    await team.log.checkTables('teamId', { repair: true })
    expect(await team.rows('ann')).toMatchObject([{ id: '2', p: { teamId: 'red', other: ['red'] } }])
    expect(await team.rows('cid')).toEqual([])
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

test('a renamed label of an enum is noticed when the service starts again', async () => {
  const own = { T: { ...mapping, table: 'owned', fields: [] } }
  const team = await openTeam('PostgreSQL', {
    postgres,
    name: 'labels',
    log: { tables: own },
    schema: [
      "create type team as enum ('red', 'green')",
      'create table owned (id int primary key, team team)',
      "insert into owned values (1, 'red'), (2, 'green')",
    ],
  })
  teams.push(team)
  await team.run(
    "alter type team rename value 'red' to 'gone'",
    "alter type team rename value 'green' to 'red'",
  )
  const [{ name = '' } = {}] = await team.run('select current_database() as name')
  const log = await openSqlLog(await postgres.database(String(name)), { tables: own })
  await log.claim('teamId')
  await expect.poll(async () => (await log.read('T', '2'))?.owner).toBe('red')
  expect((await log.read('T', '1'))?.owner).toBe('gone')
  await log.close()
})
