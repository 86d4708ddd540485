import { afterEach, describe, expect, test } from 'vitest'
import { openSqlLog } from '../../src/server/index.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { kinds, openTeam, type Team, type TeamOptions, tables } from './team.ts'

const postgres = ownPostgres()
const teams: Team[] = []

afterEach(async () => {
  for (const team of teams.splice(0)) await team.close()
})

/** A role that may insert into one attached table. Whoever runs `spy` is in `spied`. */
const mallory = (kind: string) => `mallory_${kind.toLowerCase()}`
const spying = (kind: string) => [
  `do $$ begin create role ${mallory(kind)} login; exception when duplicate_object then null; end $$`,
  'create table spied (who name)',
  `grant insert, select on spied to ${mallory(kind)}`,
]
const spyOn = (parameter: string, result = 'boolean') => `create function pg_temp.spy(value ${parameter})
  returns ${result} language plpgsql as $$ begin
    insert into public.spied values (current_user);
    return ${result === 'boolean' ? 'true' : 'value::text'};
  end $$`
const spyTypes = ['text', 'int4', 'int8', 'bool', 'name'].flatMap((type) => [
  spyOn(`pg_catalog.${type}`),
  `create domain pg_temp.${type} as pg_catalog.${type} check (pg_temp.spy(value))`,
])

/** Makes the functions of the triggers unsafe. */
const makeUnsafe = `do $$ declare f text; begin
  for f in select oid::regprocedure from pg_proc where proname like 'instep\\_note\\_%' loop
    execute format('alter function %s set search_path = pg_catalog; grant execute on function %s to public', f, f);
  end loop; end $$`

const functionsOf =
  "select oid::regproc::text as name from pg_proc where proname like 'instep\\_note\\_%' order by 1"

const unsafe = `${functionsOf.replace('order by 1', '')} and (has_function_privilege('public', oid, 'execute')
  or proconfig <> array['search_path=pg_catalog, pg_temp'])`

describe.each(kinds)('on %s, a role that may only insert into an attached table', (kind) => {
  const open = async (options: Partial<TeamOptions> = {}) => {
    const team = await openTeam(kind, { postgres, name: 'privileges', ...options })
    teams.push(team)
    await team.run(...spying(kind))
    return team
  }
  /** Runs statements as the role, in a session of its own or, on a PGlite, in a transaction. */
  const asMallory = (team: Team, ...statements: readonly string[]) =>
    team.together(`set local role ${mallory(kind)}`, ...statements)

  test('invariant 83: gets no other rights by types of its own that are named as those of PostgreSQL', async () => {
    const team = await open()
    await team.run(`grant insert on issues to ${mallory(kind)}`)
    await asMallory(team, ...spyTypes, "insert into issues (id, team_id, title) values ('a', 'red', 'One')")
    expect(await team.run('select who from spied')).toEqual([])
    await team.service.ready()
    await expect.poll(() => team.rows('ann')).toMatchObject([{ id: 'a', p: { title: 'One' } }])
  })

  test('invariant 83: cannot use a trigger function for a table of its own, whose type has casts of its own', async () => {
    const team = await open()
    const [{ name = '' } = {}] = await team.run(functionsOf)
    const triggered = asMallory(
      team,
      'create type pg_temp.odd as (value int)',
      spyOn('pg_temp.odd', 'pg_catalog.text'),
      'create cast (pg_temp.odd as text) with function pg_temp.spy(pg_temp.odd)',
      'create table pg_temp.mine (id pg_temp.odd)',
      `create trigger mine after insert on pg_temp.mine referencing new table as instep_new
        for each statement execute function ${name}()`,
      'insert into pg_temp.mine values (row(1))',
    )
    await expect(triggered).rejects.toThrow(/permission denied for function/)
    expect(await team.run('select who from spied')).toEqual([])
  })

  test('loses the triggers that it made of an unsafe function', async () => {
    const team = await open()
    const [{ name = '' } = {}] = await team.run(functionsOf)
    await team.run(
      makeUnsafe,
      'create table others (id text)',
      `alter table others owner to ${mallory(kind)}`,
      `grant create on schema public to ${mallory(kind)}`,
    )
    await asMallory(
      team,
      `create trigger others after insert on others referencing new table as instep_new
        for each statement execute function ${name}()`,
    )
    await team.log.attach('teamId')
    expect(await team.run("select from pg_trigger where tgname = 'others'")).toEqual([])
    await team.service.ready()
  })

  test('keeps a service from starting, if the triggers are unsafe, until the tables are attached again', async () => {
    const team = await open()
    await team.run(makeUnsafe)
    await expect(team.service.ready()).rejects.toThrow(
      /^The triggers of the attached tables let a role .*; run `instep attach`\.$/,
    )
    expect(await team.run(unsafe)).toHaveLength(2)
    await team.log.attach('teamId')
    expect(await team.run(unsafe)).toEqual([])
    await team.service.ready()
  })
})

test('attaching one table mends the triggers of all, also for a service without their mapping', async () => {
  const team = await openTeam('PostgreSQL', { postgres, name: 'privileges' })
  teams.push(team)
  await team.run(makeUnsafe)
  const [{ name = '' } = {}] = await team.run('select current_database() as name')
  const address = await postgres.database(String(name))
  const without = await openSqlLog(address)
  await expect(without.claim('teamId')).rejects.toThrow(/run `instep attach`/)
  const log = await openSqlLog(address, { tables: { Comment: tables.Comment } })
  await log.attach('teamId')
  expect(await team.run(unsafe)).toEqual([])
  await without.claim('teamId')
  await Promise.all([log.close(), without.close()])
})

test('the owner of a partitioned table that somebody else has attached can create partitions', async () => {
  const team = await openTeam('PostgreSQL', {
    postgres,
    name: 'partitions',
    attach: false,
    log: { tables: { T: { table: 't', id: 'id', owner: 'team', fields: ['a'] } } },
    schema: [
      'create table t (id int primary key, team text, a text) partition by range (id)',
      'create role keeper login',
      'alter table t owner to keeper; grant create on schema public to keeper',
    ],
  })
  teams.push(team)
  await team.log.attach('teamId')
  await team.service.ready()
  await team.run(
    `begin; set local role keeper;
    create table low partition of t for values from (0) to (10);
    insert into t values (1, 'red', 'One'); update t set a = 'Uno'; update t set id = 2; commit`,
  )
  await expect.poll(() => team.rows('ann')).toMatchObject([{ id: '2', p: { a: 'Uno' } }])
})
