import { type KyselyPlugin, sql } from 'kysely'
import { Client } from 'pg'
import { afterEach, describe, expect, test } from 'vitest'
import { applyOp } from '../../src/protocol/fold.ts'
import type { SyncFrame } from '../../src/protocol/frame.ts'
import type { WireRow } from '../../src/protocol/row.ts'
import { KyselyLog } from '../../src/server/log/sql/kysely-log.ts'
import { openDatabase } from '../../src/server/log/sql/open-database.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { logOptions } from '../support/postgres-log.ts'
import { kinds, openTeam, schema, type Team, type TeamOptions, tables } from './team.ts'

const postgres = ownPostgres()
const teams: Team[] = []

afterEach(async () => {
  for (const team of teams.splice(0)) await team.close()
})

/** The records that frames lead to. */
function folded(frames: readonly SyncFrame[]): ReadonlyMap<string, WireRow> {
  const rows = new Map<string, WireRow>()
  for (const { t, id, ...frame } of frames) {
    const key = `${t} ${id}`
    const row = applyOp(rows.get(key), { t, id, v: frame.sid, ...frame } as Parameters<typeof applyOp>[1])
    if (row) rows.set(key, row)
    else rows.delete(key)
  }
  return rows
}

const titlesIn = (rows: Iterable<WireRow>) =>
  Object.fromEntries([...rows].filter(({ t }) => t === 'Issue').map(({ id, p }) => [id, p.title]))

describe.each(kinds)('on %s', (kind) => {
  const open = async (options: Partial<TeamOptions> = {}) => {
    const team = await openTeam(kind, { postgres, name: 'invariants', ...options })
    teams.push(team)
    return team
  }
  const settled = async (team: Team) => {
    const waits = async () => (await team.run('select * from instep_change')).length
    await expect.poll(waits).toBe(0)
  }

  test('invariant 78: a change by any SQL is delivered once, and one that is rolled back is not', async () => {
    const team = await open()
    await team.service.ready()
    const issue = (id: string, title = id) => `('${id}', 'red', '${title}')`
    const insert = 'insert into issues (id, team_id, title) values'
    const frames: SyncFrame[] = []
    const step = async (...statements: readonly string[]) => {
      const since = frames.at(-1)?.sid ?? 0
      await team.together(...statements)
      await settled(team)
      const found = await team.frames('ann', since)
      frames.push(...found)
      return found.map(({ op, id }) => `${op} ${id}`).sort()
    }
    expect(await step(`${insert} ${issue('a')}, ${issue('b')}`)).toEqual(['i a', 'i b'])
    expect(await step("update issues set title = 'x'", "update issues set title = id || '!'")).toEqual([
      'u a',
      'u b',
    ])
    expect(await step("update issues set internal = 'only here'")).toEqual([])
    expect(
      await step("update issues set id = 'c' where id = 'a'", "update issues set id = 'a' where id = 'b'"),
    ).toEqual(['d b', 'i c', 'u a'])
    expect(await step("delete from issues where id = 'a'", `${insert} ${issue('a', 'again')}`)).toEqual([
      'u a',
    ])
    expect(
      await step(
        `${insert} ${issue('a', 'up')}, ${issue('d')} on conflict (id) do update set title = excluded.title`,
      ),
    ).toEqual(['i d', 'u a'])
    expect(await step("insert into comments (team, issue, text) values ('red', 'c', 'Why?')")).toEqual([
      'i 1',
    ])
    expect(await step("delete from issues where id = 'c'")).toEqual(['d 1', 'd c'])
    expect(
      await step('savepoint s', `${insert} ${issue('e')}`, 'rollback to s', `${insert} ${issue('f')}`),
    ).toEqual(['i f'])
    await team.together(`${insert} ${issue('g')}`, 'update issues set size = 1 / 0').catch(() => {})
    expect(await step("update issues set team_id = null where id = 'd'")).toEqual(['d d'])
    expect(await step("update issues set team_id = 'green' where id = 'f'")).toEqual(['d f'])
    expect(titlesIn(folded(frames).values())).toEqual({ a: 'up' })
    expect(titlesIn(await team.rows('ann'))).toEqual({ a: 'up' })
    expect(await step('truncate issues cascade', `${insert} ${issue('h')}`)).toEqual(['d a', 'i h'])
    expect(await team.rows('cid')).toEqual([])
    const sids = frames.map(({ sid }) => sid)
    expect(new Set(sids).size).toBe(sids.length)
  })

  test('invariant 79: a SQL statement of a user without rights on the tables of Instep succeeds, at every isolation level', async () => {
    const team = await open()
    await team.run(
      `do $$ begin create role app_${kind.toLowerCase()}; exception when duplicate_object then null; end $$`,
      `grant all on issues to app_${kind.toLowerCase()}`,
    )
    await team.service.ready()
    for (const level of ['read committed', 'repeatable read', 'serializable']) {
      await team.together(
        `set transaction isolation level ${level}`,
        `set local role app_${kind.toLowerCase()}`,
        `insert into issues (id, team_id, title) values ('${level}', 'red', 'One')`,
        "update issues set title = 'Two'",
        `delete from issues where id <> '${level}'`,
      )
    }
    await expect.poll(async () => titlesIn(await team.rows('ann'))).toEqual({ serializable: 'Two' })
  })

  test('invariant 80: a write that constraints or triggers of the application refuse is rejected with the constraint’s name, and changes nothing', async () => {
    const team = await open({
      schema: [
        ...schema,
        'alter table comments alter constraint comments_issue_fkey deferrable initially deferred',
        `create function frozen() returns trigger language plpgsql as
          $$ begin raise exception 'of the application alone' using errcode = 'P0001'; end $$`,
        "create trigger frozen before update on issues for each row when (old.status = 'closed') execute function frozen()",
      ],
    })
    await team.service.ready()
    await team.run("insert into issues (id, team_id, title, status) values ('a', 'red', 'One', 'closed')")
    await settled(team)
    const note = { op: 'i', t: 'Note', id: 'n', p: { text: 'Not stored' } }
    const refusalOf = async (...ops: readonly object[]) => {
      const { error } = (await team.send('ann', [note, ...ops])) as {
        error?: { code: string; message: string; details?: object }
      }
      expect(error?.code).toBe('invalid')
      expect(error?.message).not.toContain('of the application alone')
      return error?.details
    }
    const before = await team.position()
    expect(await refusalOf({ op: 'i', t: 'Issue', id: 'b', p: { title: '' } })).toEqual({
      state: '23514',
      constraint: 'issues_title_check',
      op: 1,
    })
    expect(
      await refusalOf(
        { op: 'i', t: 'Issue', id: 'b', p: { title: 'Two' } },
        { op: 'i', t: 'Comment', id: '7', p: { issue: 'none', text: 'Where?' } },
      ),
    ).toEqual({ state: '23503', constraint: 'comments_issue_fkey' })
    expect(await refusalOf({ op: 'u', t: 'Issue', id: 'a', p: { title: 'Uno' } })).toEqual({
      state: 'P0001',
      op: 1,
    })
    expect(await team.run('select id, title from issues')).toEqual([{ id: 'a', title: 'One' }])
    expect(await team.position()).toBe(before)
    expect(await team.rows('ann')).toMatchObject([{ id: 'a', p: { title: 'One' } }])
    expect(
      await team.send('ann', [note, { op: 'i', t: 'Issue', id: 'b', p: { title: 'Two' } }]),
    ).toMatchObject({
      sid: before + 2,
    })
  })

  test('invariant 81: attaching, detaching and repairing can be interrupted at any statement and repeated, while others write', async () => {
    const options = { ...logOptions, tables }
    const database = await openDatabase(
      kind === 'PGlite' ? 'memory:' : await postgres.database('interrupted'),
      options,
    )
    let left = 0
    const plugin: KyselyPlugin = {
      transformQuery({ node }) {
        left -= 1
        if (left < 0) throw new Error('interrupted')
        return node
      },
      transformResult: async ({ result }) => result,
    }
    const log = new KyselyLog({ ...database, migrators: database.migrators.withPlugin(plugin) }, options)
    const run = (text: string) => sql.raw(text).execute(database.writers)
    for (const statement of schema) await run(statement)
    await run(
      "insert into issues (id, team_id, title) select n, 'red', 'Old' from generate_series(1, 5100) n",
    )
    let writes = 0
    const write = async () => {
      writes += 1
      await run(`insert into issues (id, team_id, title) values ('w${writes}', 'red', 'New')`)
      await run(`update issues set title = 'Changed ${writes}' where id = '${writes * 2}'`)
      await run(`delete from issues where id = '${writes * 2 + 1}'`)
    }
    /** Interrupts `work` after 0, `every`, … statements, until it is done. */
    const interrupted = async (every: number, work: () => Promise<unknown>) => {
      for (let allowed = 0; ; allowed += every) {
        left = allowed
        await write()
        try {
          await work()
          left = 10_000
          return allowed
        } catch (error) {
          expect(String(error)).toContain('interrupted')
        }
      }
    }
    const differing = async () =>
      (await log.checkTables('teamId')).map((check) => check.differing + check.waiting)

    expect(await interrupted(13, () => log.attach('teamId'))).toBeGreaterThan(20)
    expect(await differing()).toEqual([0, 0])

    await run("update instep_record set p = '{}' where id in ('5000', '5001')")
    expect(await differing()).toEqual([0, 2])
    await interrupted(1, () => log.checkTables('teamId', { repair: true }))
    await log.checkTables('teamId', { repair: true })
    expect(await differing()).toEqual([0, 0])

    // A service must not start while attaching again is unfinished.
    await run('alter table issues disable trigger instep_update')
    await run("update issues set title = 'Unseen' where id = '5002'")
    left = 40
    await expect(
      log.attach('teamId', (sentence) => {
        if (sentence.startsWith('Issue')) throw new Error('interrupted')
      }),
    ).rejects.toThrow('interrupted')
    left = 10_000
    await expect(log.claim('teamId')).rejects.toThrow(/run `instep attach` again/)
    await log.attach('teamId')
    await log.claim('teamId')
    expect(await differing()).toEqual([0, 0])

    await interrupted(1, () => log.detach('teamId'))
    const { rows } = await sql`select from pg_trigger where tgname like 'instep_%'`.execute(database.writers)
    expect(rows).toEqual([])
    await write()
    await log.close()
  }, 120_000)
})

test('invariant 78: changes of overlapping transactions are delivered in the order of their commits', async () => {
  const team = await openTeam('PostgreSQL', { postgres, name: 'order' })
  teams.push(team)
  await team.service.ready()
  const [{ name = '' } = {}] = await team.run('select current_database() as name')
  const connectionString = await postgres.database(String(name))
  const [one, two] = [new Client({ connectionString }), new Client({ connectionString })]
  await Promise.all([one.connect(), two.connect()])
  for (const [client, id] of [
    [one, 'a'],
    [two, 'b'],
  ] as const) {
    await client.query('begin')
    await client.query(`insert into issues (id, team_id, title) values ('${id}', 'red', 'One')`)
  }
  await two.query('commit')
  await expect.poll(async () => (await team.frames('ann')).map(({ id }) => id)).toEqual(['b'])
  await one.query('commit')
  await expect.poll(async () => (await team.frames('ann')).map(({ id }) => id)).toEqual(['b', 'a'])
  await Promise.all([one.end(), two.end()])
})

test('invariant 79: no statement of the application waits for the log’s lock', async () => {
  const team = await openTeam('PostgreSQL', { postgres, name: 'locked' })
  teams.push(team)
  await team.service.ready()
  const [{ name = '' } = {}] = await team.run('select current_database() as name')
  const holder = new Client({ connectionString: await postgres.database(String(name)) })
  await holder.connect()
  await holder.query('begin')
  await holder.query('select from instep_state for update')
  await team.run(
    "set statement_timeout = 1000; insert into issues (id, team_id, title) values ('a', 'red', 'One')",
    "set statement_timeout = 1000; begin isolation level serializable; update issues set title = 'Two'; commit",
  )
  expect(await team.frames('ann')).toEqual([])
  await holder.query('commit')
  await holder.end()
  await expect.poll(async () => titlesIn(await team.rows('ann'))).toEqual({ a: 'Two' })
})
