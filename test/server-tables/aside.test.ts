import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { openSqlLog } from '../../src/server/index.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { healthOf, kinds, openTeam, type Team, tables } from './team.ts'

/* A table that no longer fits is set aside: its last rows stay, nothing is accepted for it, and everything else goes on. */

const postgres = ownPostgres()
const soon = { timeout: 10_000, interval: 100 }

/** How a table stops to fit, and how it fits again. */
const faults: readonly [
  what: string,
  breaking: readonly string[],
  mending: readonly string[],
  message: RegExp,
][] = [
  [
    'a renamed column',
    ['alter table issues rename title to headline'],
    ['alter table issues rename headline to title'],
    /names the column `title`, which issues does not have/,
  ],
  [
    'a dropped column',
    ['alter table issues drop column size'],
    ['alter table issues add column size int'],
    /names the column `size`/,
  ],
  [
    'a renamed table',
    ['alter table issues rename to tickets'],
    ['alter table tickets rename to issues'],
    /names the table issues, which does not exist/,
  ],
  [
    'a table that has taken its name',
    ['alter table issues rename to tickets', 'create table issues (like tickets including all)'],
    ['drop table issues', 'alter table tickets rename to issues'],
    /triggers are missing or disabled/,
  ],
  [
    'disabled triggers',
    ['alter table issues disable trigger user'],
    ['alter table issues enable trigger user', ...always('issues')],
    /triggers are missing or disabled/,
  ],
]

function always(table: string): readonly string[] {
  const names = ['insert', 'update', 'delete', 'truncate']
  return names.map((name) => `alter table ${table} enable always trigger instep_${name}`)
}

describe.each(kinds)('on %s', (kind) => {
  let team: Team
  const lines: string[] = []
  let ids = 0

  beforeAll(async () => {
    const note = (message: string, details?: object) =>
      void lines.push(`${message} ${JSON.stringify(details)}`)
    const logger = { debug() {}, info: note, warn: note, error: note }
    team = await openTeam(kind, { postgres, name: 'aside', log: { logger }, service: { logger } })
    await team.service.ready()
    await team.run('alter table comments alter column text drop not null')
    await team.run("insert into issues (id, team_id, title) values ('a', 'red', 'One')")
    await vi.waitFor(async () => expect(await titles()).toEqual({ a: 'One' }), soon)
  })

  afterAll(() => team.close())

  const titles = async () => {
    const rows = await team.rows('ann')
    return Object.fromEntries(rows.filter(({ t }) => t === 'Issue').map(({ id, p }) => [id, p.title]))
  }
  const health = () => healthOf(team.service)
  const update = (title: string) => ({ op: 'u', t: 'Issue', id: 'a', p: { title } })
  const send = (op: object, id?: string) => {
    ids += 1
    return team.send('ann', [op], { id: id ?? `aside-${kind}-${ids}` })
  }
  const isUnavailable = { error: { code: 'type_unavailable' }, retryAfter: expect.any(Number) }

  test.each(faults)('%s sets the table aside, and nothing else', async (what, breaking, mending, message) => {
    lines.length = 0
    const before = await titles()
    await team.run(...breaking)
    await expect.poll(health, soon).toBe('{"status":"degraded"}')
    expect(lines.join('\n')).toContain('Issue')
    expect(await titles()).toEqual(before)
    expect(await send(update('Lost'), `first ${what}`)).toMatchObject(isUnavailable)
    const note = { op: 'i', t: 'Note', id: what, p: { teamId: 'red', text: what } }
    expect(await send(note)).toMatchObject({ sid: expect.any(Number) })
    const checks = await team.log.checkTables('teamId')
    expect(checks.map(({ type, fault = '' }) => [type, fault])).toEqual([
      ['Comment', ''],
      ['Issue', expect.stringMatching(message)],
    ])

    await team.run(...mending)
    await team.run(`update issues set title = '${what}' where id = 'a'`)
    await expect.poll(titles, soon).toEqual({ a: what })
    await expect.poll(health, soon).toBe('{"status":"ok"}')
    expect(await send(update('Later'), `first ${what}`)).toMatchObject({ sid: expect.any(Number) })
  })

  test('what changed while the table was aside reaches clients as frames', async () => {
    await team.run('alter table issues disable trigger user')
    await expect.poll(health, soon).toBe('{"status":"degraded"}')
    await team.run("update issues set title = 'Meanwhile' where id = 'a'")
    const since = await team.position()
    await team.run('alter table issues enable trigger user', ...always('issues'))
    await expect.poll(health, soon).toBe('{"status":"ok"}')
    await expect
      .poll(() => team.frames('ann', since), soon)
      .toMatchObject([{ op: 'u', id: 'a', p: { title: 'Meanwhile' } }])
  })

  test('a write that no trigger records is not accepted', async () => {
    await team.run('alter table issues disable trigger instep_update')
    const result = await send(update('Unseen'), 'unrecorded')
    const [row] = await team.run("select title from issues where id = 'a'")
    expect(result).toMatchObject(isUnavailable)
    expect(row?.title).not.toBe('Unseen')
    await team.run(...always('issues'))
    await expect.poll(health, soon).toBe('{"status":"ok"}')
    expect(await send(update('Seen'), 'unrecorded')).toMatchObject({ sid: expect.any(Number) })
    expect(await titles()).toEqual({ a: 'Seen' })
  })

  test('a broken trigger of the application is no verdict, and its table is named until it works', async () => {
    lines.length = 0
    await team.run(
      `create function broken() returns trigger language plpgsql as
        $$ begin perform nowhere from issues; return new; end $$`,
      'create trigger broken before update on issues for each row execute function broken()',
    )
    expect(await send(update('Broken'), 'broken')).toMatchObject(isUnavailable)
    expect(lines.join('\n')).toMatch(/Issue.*42703/)
    expect(await health()).toBe('{"status":"degraded"}')
    const [, issue] = await team.log.checkTables('teamId')
    expect(issue?.fault).toMatch(/42703/)
    const comment = { op: 'd', t: 'Comment', id: '7' }
    expect(await send(comment)).toMatchObject({ sid: expect.any(Number) })
    await team.run('drop trigger broken on issues')
    expect(await send(update('Mended'), 'broken')).toMatchObject({ sid: expect.any(Number) })
    expect(await health()).toBe('{"status":"ok"}')
  })

  const unreadable: readonly [
    what: string,
    before: readonly string[],
    row: readonly string[],
    mending: string,
  ][] = [
    [
      'a number with too many digits',
      ['alter table comments alter column text type numeric[] using null, alter column text drop not null'],
      [
        "insert into comments (id, team, issue, text) values (1, 'red', 'a', array_fill('1e131071'::numeric, array[9000]))",
      ],
      'update comments set text = array[1] where id = 1',
    ],
    [
      'a value that the database cannot read',
      [
        "create type mood as enum ('good', 'lost')",
        "alter table comments alter column text type mood using 'good'",
        'delete from comments',
      ],
      [
        "insert into comments (id, team, issue, text) values (1, 'red', 'a', 'lost')",
        "delete from pg_enum where enumlabel = 'lost'",
      ],
      "update comments set text = 'good' where id = 1",
    ],
  ]

  test.each(unreadable)(
    'a row with %s is set aside by name, and all others are delivered',
    async (_, before, row, mending) => {
      lines.length = 0
      await team.run(...before)
      await team.together(...row, "insert into comments (id, team, issue) values (2, 'red', 'a')")
      const comments = async () =>
        (await team.rows('ann'))
          .filter(({ t }) => t === 'Comment')
          .map(({ id }) => id)
          .sort()
      await expect.poll(comments, soon).toEqual(['2'])
      expect(await send(update('Goes on'))).toMatchObject({ sid: expect.any(Number) })
      await expect.poll(health, soon).toBe('{"status":"degraded"}')
      const [comment] = await team.log.checkTables('teamId')
      expect(comment).toMatchObject({ asideCount: 1, aside: [{ id: '1' }], differing: 0 })
      expect(lines.join('\n')).toMatch(/set aside.*Comment/)
      await team.run(mending)
      await expect.poll(comments, soon).toEqual(['1', '2'])
      await expect.poll(health, soon).toBe('{"status":"ok"}')
      await team.run('delete from comments')
    },
  )

  const ends: readonly [what: string, statements: readonly string[]][] = [
    ['truncated', ['truncate comments']],
    ['removed with many others', ['delete from comments']],
  ]

  test.each(ends)(
    'a row that is set aside and then %s is forgotten',
    async (what, statements) => {
      await team.run('alter table comments alter column text type numeric using null')
      await team.run("insert into comments (id, team, issue, text) values (1, 'red', 'a', '1e5000')")
      await expect.poll(health, soon).toBe('{"status":"degraded"}')
      if (what !== 'truncated') {
        await team.run(
          "insert into comments (id, team, issue) select n, 'red', 'a' from generate_series(2, 10500) n",
        )
        await expect.poll(() => team.run('select from instep_change'), { timeout: 30_000 }).toEqual([])
      }
      await team.run(...statements)
      await expect.poll(health, soon).toBe('{"status":"ok"}')
    },
    60_000,
  )

  test('a client without the extension gets 503 for the request', async () => {
    await team.run('alter table issues rename title to headline')
    await expect.poll(health, soon).toBe('{"status":"degraded"}')
    await expect(team.send('ann', [update('Lost')], { id: 'old' }, { features: undefined })).rejects.toThrow(
      /^503/,
    )
    await team.run('alter table issues rename headline to title')
    await expect.poll(health, soon).toBe('{"status":"ok"}')
  })

  test('a service starts while a table does not fit, with the table set aside', async () => {
    if (kind === 'PGlite') return
    await team.run('alter table issues rename title to headline')
    const [{ name = '' } = {}] = await team.run('select current_database() as name')
    const log = await openSqlLog(await postgres.database(String(name)), { tables })
    await log.claim('teamId')
    expect(log.faults?.()).toMatchObject([{ type: 'Issue' }])
    await log.close()
    await team.run('alter table issues rename headline to title')
    await expect.poll(health, soon).toBe('{"status":"ok"}')
  })
})

test('all services of a database read a changed column as it is now', async () => {
  const times = { T: { table: 'times', id: 'id', owner: 'team_id', fields: ['at'] } }
  const schema = ['create table times (id int primary key, team_id text not null, at timestamptz)']
  const team = await openTeam('PostgreSQL', { postgres, name: 'two', schema, log: { tables: times } })
  await team.service.ready()
  const [{ name = '' } = {}] = await team.run('select current_database() as name')
  const lines: string[] = []
  const note = (message: string) => void lines.push(message)
  const logger = { debug() {}, info: note, warn: note, error: note }
  const other = await openSqlLog(await postgres.database(String(name)), { tables: times, logger })
  await other.claim('teamId')
  await team.run('alter table times alter at type text using at::text')
  const typeOf = () => team.run("select columns->>'at' as type from instep_table")
  await expect.poll(typeOf, soon).toEqual([{ type: 'text' }])
  // The service that has noticed is gone: now the other one has to read the column.
  await team.service.close()
  await postgres.run(String(name), "insert into times values (1, 'red', 'noon')")
  await expect.poll(() => other.read('T', '1'), soon).toMatchObject({ p: { at: 'noon' } })
  expect(lines).not.toContain('A table is set aside: its type only shows its last rows.')
  await other.close()
})

test('a service starts on a database that is read only', async () => {
  const team = await openTeam('PostgreSQL', { postgres, name: 'read_only' })
  await team.service.ready()
  const [{ name = '' } = {}] = await team.run('select current_database() as name')
  await team.run(`alter database ${name} set default_transaction_read_only = on`)
  const log = await openSqlLog(await postgres.database(String(name)), { tables })
  await expect(log.claim('teamId')).resolves.toBeUndefined()
  await log.close()
  await team.close()
})
