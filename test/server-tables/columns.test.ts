import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { JsonValue } from '../../src/protocol/json.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { kinds, openTeam, type Team } from './team.ts'

const postgres = ownPostgres()

/** Arrays in arrays, as SQL and as JSON. */
const nested = (levels: number) => `(repeat('[', ${levels}) || repeat(']', ${levels}))::json`
const deep = (levels: number): JsonValue => JSON.parse('['.repeat(levels) + ']'.repeat(levels))

/** A value of each type of column: as SQL, as JSON, and whether a client that writes the JSON gets the same value. */
const values: readonly [
  type: string,
  value: string,
  json: JsonValue,
  options?: { as?: 'number'; lossy?: boolean },
][] = [
  ['boolean', 'true', true],
  ['int2', '-32768', -32_768],
  ['int4', '2147483647', 2_147_483_647],
  ['int8', '9223372036854775807', '9223372036854775807'],
  ['int8', '9007199254740991', 9_007_199_254_740_991, { as: 'number' }],
  ['int8', '9007199254740993', null, { as: 'number', lossy: true }],
  ['float4', '0.5', 0.5],
  ['float8', '0.1', 0.1],
  ['float8', "'NaN'", null, { lossy: true }],
  ['float8', "'-Infinity'", null, { lossy: true }],
  ['numeric(20, 4)', '1234567890123456.7891', '1234567890123456.7891'],
  ['numeric', "'NaN'", null, { lossy: true }],
  ['numeric(12, 2)', '1234567890.50', 1_234_567_890.5, { as: 'number' }],
  ['numeric(15, 15)', '0.123456789012345', 0.123_456_789_012_345, { as: 'number' }],
  ['numeric(3)', "'NaN'", null, { as: 'number', lossy: true }],
  ['price', '-9.99', -9.99, { as: 'number' }],
  ['text', "'é\" \\ '", 'é" \\ '],
  ['varchar(3)', "'abc'", 'abc'],
  ['char(3)', "'ab'", 'ab'],
  ['uuid', "'019AC1F0-5d4c-7b1e-9c55-2f0d2f6f8a10'", '019ac1f0-5d4c-7b1e-9c55-2f0d2f6f8a10'],
  ['mood', "'sad'", 'sad'],
  ['date', "'2026-02-03'", '2026-02-03'],
  ['date', "'infinity'", null, { lossy: true }],
  ['time', "'12:34:56.789'", '12:34:56.789'],
  ['timestamptz', "'2026-01-02 03:04:05.678+02'", Date.UTC(2026, 0, 2, 1, 4, 5, 678)],
  ['timestamptz', "'2026-01-02 03:04:05.678901+00'", Date.UTC(2026, 0, 2, 3, 4, 5, 678) + 0.901],
  ['timestamptz', "'1900-01-01 00:00:00.000001+00'", Date.UTC(1900, 0, 1) + 0.001],
  ['timestamptz', "'2248-01-01 23:59:59.999999+00'", Date.UTC(2248, 0, 1, 23, 59, 59, 999) + 0.999],
  [
    'timestamptz',
    "'9999-12-31 23:59:59.999999+00'",
    Date.UTC(9999, 11, 31, 23, 59, 59, 999),
    { lossy: true },
  ],
  ['timestamptz', "'294276-12-31 00:00:00+00'", 9_224_317_929_600_000, { lossy: true }],
  ['timestamptz', "'1969-12-31 23:59:59.999+00'", -1],
  ['timestamptz', "'infinity'", null, { lossy: true }],
  ['timestamp', "'2026-01-02 03:04:05.678901'", Date.UTC(2026, 0, 2, 3, 4, 5, 678) + 0.901],
  ['interval', "'1 day 02:00'", '1 day 02:00:00'],
  ['jsonb', '\'{"a": [1, null, {"b": "c"}]}\'', { a: [1, null, { b: 'c' }] }],
  ['jsonb', '\'{"__proto__": 1}\'', null, { lossy: true }],
  ['json', '\'{"b":1,"a":2}\'', { b: 1, a: 2 }],
  ['json', '\'{"a": "\\u0000"}\'', null, { lossy: true }],
  ['jsonb', nested(498), deep(498)],
  ['jsonb', nested(499), null, { lossy: true }],
  ['jsonb', nested(2_000), null, { lossy: true }],
  ['json', nested(498), deep(498)],
  ['json', nested(499), null, { lossy: true }],
  ['jsonb[]', `array[${nested(497)}::jsonb, ${nested(498)}::jsonb]`, [deep(497), null], { lossy: true }],
  ['jsonb', "'[1e400]'", null, { lossy: true }],
  ['jsonb', "'[1.7e308, -1.7e308]'", [1.7e308, -1.7e308]],
  ['json', `'{"a": -1e400}'`, null, { lossy: true }],
  ['text[]', '\'{a,NULL,"b,c"}\'', ['a', null, 'b,c']],
  ['int8[]', "'{1,9223372036854775807}'", ['1', '9223372036854775807']],
  ['timestamptz[]', "'{1970-01-01 00:00:01+00}'", [1_000]],
  ['float8[]', "'{1,NaN}'", [1, null], { lossy: true }],
  ['mood[]', "'{sad,happy}'", ['sad', 'happy']],
  ['jsonb[]', '\'{"[1]","{}"}\'', [[1], {}]],
  ['int4[]', "'{}'", []],
  ['small', '7', 7],
  ['inet', "'10.0.0.1'", '10.0.0.1/32'],
]

const columns = values.map(([type, value, json, options = {}], index) => {
  return { name: `c${index}`, type, value, json, ...options }
})

/** Values that a column cannot hold. */
const refused: readonly [type: string, value: JsonValue][] = [
  ['boolean', 'true'],
  ['int4', 1.5],
  ['int4', '1'],
  ['int4', 2_147_483_648],
  ['int8', 1],
  ['numeric(20, 4)', 1.5],
  ['text', 1],
  ['varchar(3)', 'abcd'],
  ['uuid', 'x'],
  ['mood', 'angry'],
  ['date', '2026-02-30'],
  ['timestamptz', '2026-01-02'],
  ['text[]', 'a'],
  ['text[]', [1]],
  ['small', 11],
]

describe.each(kinds)('on %s', (kind) => {
  let team: Team

  beforeAll(async () => {
    const field = ({ name, as }: (typeof columns)[number]) => (as ? { [name]: { column: name, as } } : name)
    const tables = { All: { table: 'all_types', id: 'id', owner: 'team', fields: columns.map(field) } }
    team = await openTeam(kind, {
      postgres,
      name: 'columns',
      log: { tables },
      schema: [
        "create type mood as enum ('sad', 'happy')",
        'create domain small as int check (value < 10)',
        'create domain price as numeric(6, 2)',
        `create table all_types (id uuid primary key, team text default 'red',
          ${columns.map(({ name, type }) => `${name} ${type}`).join()})`,
      ],
    })
    await team.service.ready()
  })

  afterAll(() => team.close())

  const id = (n: number) => `00000000-0000-0000-0000-00000000000${n}`

  test('column values become JSON by a fixed table', async () => {
    await team.run(
      `insert into all_types values ('${id(1)}', 'red', ${columns.map(({ value }) => value).join()})`,
    )
    await expect.poll(() => team.rows('ann')).toHaveLength(1)
    const [row] = await team.rows('ann')
    const { teamId, ...fields } = row?.p ?? {}
    expect(teamId).toBe('red')
    expect(fields).toEqual(Object.fromEntries(columns.map(({ name, json }) => [name, json])))
    await team.run('delete from all_types')
  })

  // PGlite itself loses a row that nests more deeply.
  const levels = kind === 'PGlite' ? 5_500 : 6_000

  test(`a jsonb that nests ${levels} levels deep is null, and its row arrives`, async () => {
    const column = columns.find(({ type }) => type === 'jsonb')?.name ?? ''
    await team.run(`insert into all_types (id, ${column}) values ('${id(1)}', ${nested(levels)}::jsonb)`)
    await expect.poll(() => team.rows('ann'), { timeout: 10_000 }).toMatchObject([{ p: { [column]: null } }])
    expect(team.log.faults?.()).toEqual([])
    await team.run('delete from all_types')
  })

  test('a client writes the same values as a SQL statement', async () => {
    const exact = columns.filter(({ lossy }) => !lossy)
    const p = Object.fromEntries(exact.map(({ name, json }) => [name, json]))
    const result = await team.send('ann', [{ op: 'i', t: 'All', id: id(2), p }])
    expect(result).toMatchObject({ sid: expect.any(Number) })
    const names = exact.map(({ name }) => `${name}::text`).join()
    const written = await team.run(`select ${names} from all_types where id = '${id(2)}'`)
    await team.run(
      `insert into all_types (id, ${exact.map(({ name }) => name).join()}) values ('${id(3)}', ${exact.map(({ value }) => value).join()})`,
    )
    const expected = await team.run(`select ${names} from all_types where id = '${id(3)}'`)
    expect(written).toEqual(expected)
  })

  test('a client sets a field to null, and leaves the other fields exactly as they are', async () => {
    await team.run('delete from all_types')
    const micros =
      columns.find(({ type, value }) => type === 'timestamptz' && value.includes('678901'))?.name ?? ''
    await team.run(
      `insert into all_types (id, c0, ${micros}) values ('${id(4)}', true, '2026-01-02 03:04:05.678901+00')`,
    )
    await team.send('ann', [{ op: 'u', t: 'All', id: id(4), p: { c0: null } }])
    const [row] = await team.run(`select c0, ${micros}::text as at from all_types`)
    expect(row?.c0).toBe(null)
    expect(row?.at).toContain('05.678901')
  })

  test('a timestamp that a client changes and changes back, or writes as it is, keeps its microseconds', async () => {
    await team.run('delete from all_types')
    const { name: micros = '', json: at = null } =
      columns.find(({ type, value }) => type === 'timestamptz' && value.includes('678901')) ?? {}
    await team.run(
      `insert into all_types (id, ${micros}) values ('${id(5)}', '2026-01-02 03:04:05.678901+00')`,
    )
    const stored = async () => (await team.run(`select ${micros}::text as at from all_types`))[0]?.at
    const before = await stored()
    await expect.poll(() => team.rows('ann')).toMatchObject([{ p: { [micros]: at } }])
    await team.send('ann', [{ op: 'u', t: 'All', id: id(5), p: { [micros]: 0 } }])
    expect(await stored()).not.toBe(before)
    await team.send('ann', [{ op: 'u', t: 'All', id: id(5), p: { [micros]: at }, was: { [micros]: 0 } }])
    expect(await stored()).toBe(before)
    const whole = await team.rows('ann')
    await team.send('ann', [{ op: 'i', t: 'All', id: id(5), put: true, p: whole[0]?.p }])
    expect(await stored()).toBe(before)
  })

  test.each(refused)('a client cannot write to %s the value %j', async (type, value) => {
    const name = columns.find((column) => column.type === type && !column.as)?.name ?? ''
    const result = await team.send('ann', [{ op: 'i', t: 'All', id: id(9), p: { [name]: value } }])
    expect(result).toMatchObject({ error: { code: 'invalid', details: { op: 0 } } })
  })

  test.each(['00000000-0000-0000-0000-00000000000A', 'x'])(
    'an id must be the text of its column: %s',
    async (wrong) => {
      const result = await team.send('ann', [{ op: 'i', t: 'All', id: wrong, p: {} }])
      expect(result).toMatchObject({ error: { code: 'invalid' } })
    },
  )
})
