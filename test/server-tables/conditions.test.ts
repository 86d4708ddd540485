import type { KyselyPlugin } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ownershipJudge } from '../../src/server/log/ownership.ts'
import { KyselyLog } from '../../src/server/log/sql/kysely-log.ts'
import { openDatabase } from '../../src/server/log/sql/open-database.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { logOptions } from '../support/postgres-log.ts'
import { kinds, openTeam, schema, type Team, tables } from './team.ts'

const postgres = ownPostgres()

describe.each(kinds)('on %s', (kind) => {
  let team: Team
  const update = (id: string, p: object, more: object = {}) => ({ op: 'u', t: 'Issue', id, p, ...more })
  const note = (id: string, issue: string) => ({ op: 'i', t: 'Note', id, p: { teamId: 'red', issue } })
  const accepted = { sid: expect.any(Number) }

  beforeAll(async () => {
    team = await openTeam(kind, {
      postgres,
      name: 'conditions',
      schema: [
        ...schema,
        // As if each statement took longer than the time limit.
        "create function late() returns trigger language plpgsql as $$ begin raise exception using errcode = '57014'; end $$",
        "create trigger late before update on issues for each row when (new.title = 'Late') execute function late()",
      ],
      service: {
        async authorize({ ops }, _, { read }) {
          for (const { t, id, op, ...rest } of ops) {
            const issue = t === 'Issue' ? id : 'p' in rest ? String(rest.p.issue) : ''
            if ((await read('Issue', issue))?.status === 'closed') return { message: `${issue} is closed.` }
          }
          return undefined
        },
      },
    })
    await team.service.ready()
  })

  afterAll(() => team.close())

  beforeEach(async () => {
    await team.run(
      'truncate issues cascade',
      "insert into issues (id, team_id, title) values ('a', 'red', 'One'), ('b', 'red', 'Two')",
    )
  })

  /** The position once no change waits. */
  const settled = async () => {
    await expect.poll(async () => (await team.run('select from instep_change')).length).toBe(0)
    return team.position()
  }

  test('a rule reads the current row right after a SQL statement, and also records of Instep', async () => {
    await team.run("update issues set status = 'closed' where id = 'a'")
    expect(await team.send('ann', [update('a', { title: 'Uno' })])).toMatchObject({
      error: { code: 'forbidden', message: 'a is closed.' },
    })
    await team.run("update issues set status = 'closed' where id = 'b'")
    expect(await team.send('ann', [note('n', 'b')])).toMatchObject({
      error: { code: 'forbidden', message: 'b is closed.' },
    })
    await team.run("update issues set status = 'open'")
    expect(await team.send('ann', [note('n', 'b'), update('a', { title: 'Uno' })])).toMatchObject(accepted)
  })

  test('`unchangedSince` counts a SQL statement that is not recorded yet', async () => {
    const unchangedSince = await settled()
    await team.run("update issues set size = 7 where id = 'b'")
    const result = await team.send('ann', [update('b', { title: 'Uno' }, { unchangedSince })])
    expect(result).toMatchObject({ error: { code: 'conflict' } })
  })

  test('`unchangedSince` does not count a SQL statement that changes nothing for clients', async () => {
    const unchangedSince = await settled()
    await team.run(
      "update issues set internal = 'changed', title = 'Due' where id = 'b'",
      'update issues set internal = title',
    )
    expect(await team.send('ann', [update('a', { size: 1 }, { unchangedSince })])).toMatchObject(accepted)
  })

  test('invariant 74: an op with `was` keeps the changes of a SQL statement right before it', async () => {
    await team.run("update issues set title = 'Theirs', size = 7 where id = 'a'")
    const op = update('a', { title: 'Old', size: 1 }, { was: { title: 'One', size: 7 } })
    expect(await team.send('ann', [op])).toMatchObject(accepted)
    expect(await team.run("select title, size from issues where id = 'a'")).toEqual([
      { title: 'Theirs', size: 1 },
    ])
    const gone = { op: 'd', t: 'Issue', id: 'a', was: { title: 'One' } }
    expect(await team.send('ann', [gone, { ...gone, id: 'b', was: { title: 'Two' } }])).toMatchObject(
      accepted,
    )
    expect(await team.run('select id from issues')).toEqual([{ id: 'a' }])
  })

  test('a field that `unset` removes becomes null, and the rest of the row stays', async () => {
    await team.run("update issues set size = 7 where id = 'a'")
    const since = await settled()
    const op = update('a', {}, { unset: ['size', 'title'], was: { size: 7, title: 'Uno' } })
    expect(await team.send('ann', [op])).toMatchObject(accepted)
    expect(await team.frames('ann', since)).toMatchObject([{ op: 'u', id: 'a', p: { size: null } }])
  })

  test('an op with `was` compares records of Instep beside rows, and rules see the remaining ops of both', async () => {
    const other = { ...note(`w-${kind}`, 'b'), was: null }
    const insertion = { op: 'i', t: 'Issue', id: 'a', p: { teamId: 'red', title: 'New' }, was: null }
    await team.run("update issues set status = 'closed' where id = 'a'")
    expect(await team.send('ann', [insertion, other])).toMatchObject(accepted)
    const before = await settled()
    expect(await team.send('ann', [insertion, other])).toEqual({ id: expect.any(String), sid: before })
  })

  test('a transaction that takes too long is tried again, and rejected the third time', async () => {
    const send = () => team.send('ann', [update('a', { title: 'Late' })], { id: 'late' })
    await expect(send()).rejects.toThrow(/^503/)
    await expect(send()).rejects.toThrow(/^503/)
    const refused = { error: { code: 'invalid', details: { state: '57014' } } }
    expect(await send()).toMatchObject(refused)
    expect(await send()).toMatchObject(refused)
  })
})

test('`unchangedSince` counts a SQL statement that is recorded while the write is decided', async () => {
  const options = { ...logOptions, tables }
  const database = await openDatabase(await postgres.database('taken'), options)
  let statements = 0
  let takenAfter = 0
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      statements += 1
      if (statements === takenAfter) await log.checkTables('teamId', { repair: true })
      return result
    },
  }
  const log = new KyselyLog({ ...database, appliers: database.appliers.withPlugin(plugin) }, options)
  await postgres.run(
    'taken',
    [...schema, "insert into issues (id, team_id, title) values ('a', 'red', 'One')"].join(';'),
  )
  await log.attach('teamId')
  const judge = ownershipJudge({ ownerField: 'teamId', models: undefined })
  // By each of the three reads before the log is locked.
  for (takenAfter of [1, 2, 3]) {
    const { head: unchangedSince } = await log.position()
    await postgres.run('taken', `update issues set size = ${takenAfter}`)
    statements = 0
    const op = { op: 'u', t: 'Issue', id: 'a', p: { title: 'Uno' }, unchangedSince } as const
    await expect(log.write([op], judge)).rejects.toThrow(/The Issue a has changed/)
    expect(statements).toBeGreaterThanOrEqual(takenAfter)
  }
  await log.close()
})
