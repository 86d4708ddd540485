import { afterEach, describe, expect, test } from 'vitest'
import { ownPostgres } from '../support/own-postgres.ts'
import { kinds, openTeam, type Team } from './team.ts'

const postgres = ownPostgres()
const teams: Team[] = []

afterEach(async () => {
  for (const team of teams.splice(0)) await team.close()
})

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`

/** Names that Instep, plpgsql or SQL uses in a meaning of its own, or that are not easy to quote. */
const odd = [
  ...[
    'KEYS',
    'VALUE',
    'VALUE::text',
    'found',
    'new',
    'old',
    'tg_op',
    'id',
    'ids',
    'same',
    'n',
    'k',
    'key',
    'c',
    's',
  ],
  ...[
    'p',
    't',
    'e',
    'v',
    'x',
    'owner',
    'value',
    'text',
    'user',
    'select',
    'instep_new',
    'instep_old',
    'instep_keys',
  ],
  ...['$1', '$$', ':a', '?', '%', 'a"b', "it's", 'a\\b', 'a.b', 'a b ', 'ä😀', '--', '/*'],
]

describe.each(kinds)('on %s', (kind) => {
  const open = async (schema: readonly string[], table: string, key: string, fields: readonly string[]) => {
    const mapping = { table, id: key, owner: 'team', fields }
    const team = await openTeam(kind, { postgres, name: 'names', schema, log: { tables: { T: mapping } } })
    teams.push(team)
    await team.service.ready()
    return team
  }

  test('columns, fields and types can have any name', async () => {
    const columns = odd.filter((name) => name !== 'id' && name !== 'owner')
    const team = await open(
      [
        ...columns.map((name) => `create type ${quoted(`${name} type`)} as enum ('A', 'B')`),
        `create table t (key_ int primary key, team text, ${columns
          .map((name) => `${quoted(name)} ${quoted(`${name} type`)} default 'A'`)
          .join()})`,
      ],
      't',
      'key_',
      columns,
    )
    const all = (value: string) => Object.fromEntries(columns.map((name) => [name, value]))
    expect(await team.send('ann', [{ op: 'i', t: 'T', id: '1', p: { teamId: 'red', ...all('B') } }])).toEqual(
      {
        id: expect.any(String),
        sid: expect.any(Number),
      },
    )
    await team.run("insert into t (key_, team) values (2, 'red')")
    await expect.poll(() => team.rows('ann')).toHaveLength(2)
    const rows = new Map((await team.rows('ann')).map(({ id, p }) => [id, p]))
    expect(rows.get('1')).toEqual({ teamId: 'red', ...all('B') })
    expect(rows.get('2')).toEqual({ teamId: 'red', ...all('A') })
  })

  test('a table and its key can have any name', async () => {
    const tables = odd.filter((name, index) => !name.includes('.') && index % 3 !== 2)
    const mappings = Object.fromEntries(
      tables.map((name) => [name, { table: name, id: name, owner: 'team', fields: ['a'] }]),
    )
    const partitioned = 'partition by range (found)'
    const team = await openTeam(kind, {
      postgres,
      name: 'names',
      schema: [
        ...tables.map(
          (name) => `create table ${quoted(name)} (${quoted(name)} text primary key, team text, a text)`,
        ),
        `create table parts (found int primary key, team text, a text) ${partitioned}`,
        'create table part partition of parts default',
      ],
      log: { tables: { ...mappings, Part: { table: 'parts', id: 'found', owner: 'team', fields: ['a'] } } },
    })
    teams.push(team)
    await team.service.ready()
    for (const name of tables) {
      const table = quoted(name)
      await team.run(
        `insert into ${table} values ('1', 'red', 'One'), ('2', 'red', 'Two')`,
        `update ${table} set a = 'Uno' where ${table}.${table} = '1'`,
        `update ${table} set ${table} = '3' where ${table}.${table} = '2'`,
        `delete from ${table} where ${table}.${table} = '1'`,
      )
    }
    await team.run(
      "insert into parts values (1, 'red', 'One')",
      "update parts set a = 'Uno'",
      'update parts set found = 3',
    )
    const changed = await team.send(
      'ann',
      tables.map((t) => ({ op: 'u', t, id: '3', p: { a: 'Three' } })),
    )
    expect(changed).toEqual({ id: expect.any(String), sid: expect.any(Number) })
    await expect
      .poll(async () => (await team.rows('ann')).map(({ t }) => t).sort())
      .toEqual([...tables, 'Part'].sort())
    expect((await team.rows('ann')).map(({ id }) => id)).toEqual(tables.map(() => '3').concat('3'))
    expect(await team.run('select a from "KEYS"')).toEqual([{ a: 'Three' }])
  })
})
