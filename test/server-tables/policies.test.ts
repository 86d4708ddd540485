import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type ActAs, createSyncService } from '../../src/server/index.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { kinds, openTeam, schema, type Team } from './team.ts'

const postgres = ownPostgres()

/** A role may not write everything, and each row says who has written it. */
const policies = [
  'create role "Team ""member"""',
  'grant select, insert, update, delete on issues to "Team ""member"""',
  "alter table issues alter internal set default current_user || ', ' || current_setting('app.user')",
  'alter table issues enable row level security',
  'create policy read on issues for select using (true)',
  "create policy add on issues for insert with check (title <> 'Refused')",
  'create policy change on issues for update using (size is null)',
  "create policy remove on issues for delete using (current_setting('app.user') = 'ann')",
]

describe.each(kinds)('with `as`, on %s', (kind) => {
  let team: Team
  let actAs: ActAs
  const reasons: unknown[] = []
  const member: ActAs = ({ userId }) => ({ role: 'Team "member"', settings: { 'app.user': userId } })
  const insert = (id: string, title: string) => ({ op: 'i', t: 'Issue', id, p: { teamId: 'blue', title } })
  const titles = () => team.run('select id, title from issues order by id')

  beforeAll(async () => {
    const noted = (_: string, { reason }: { reason?: unknown } = {}) => void reasons.push(reason)
    team = await openTeam(kind, {
      postgres,
      name: 'policies',
      schema: [...schema, ...policies],
      service: {
        as: (caller) => actAs(caller),
        logger: { debug() {}, info() {}, warn() {}, error: noted },
      },
    })
    await team.service.ready()
  })

  afterAll(() => team.close())

  beforeEach(async () => {
    actAs = member
    await team.run(
      'truncate issues cascade',
      "insert into issues (id, team_id, title, size, internal) values ('a', 'blue', 'Free', null, ''), ('b', 'blue', 'Fixed', 1, '')",
    )
  })

  test('a client writes with the role and the settings of its caller, also to records of Instep', async () => {
    const note = { op: 'i', t: 'Note', id: `n-${kind}`, p: { teamId: 'blue', text: 'Both' } }
    const result = await team.send('ben', [note, insert('c', 'New'), insert('d', 'Newer')])
    expect(result).toEqual({ id: expect.any(String), sid: expect.any(Number) })
    expect(await team.run("select internal from issues where id in ('c', 'd')")).toEqual([
      { internal: 'Team "member", ben' },
      { internal: 'Team "member", ben' },
    ])
  })

  test('a write that a policy refuses is rejected as forbidden, and changes nothing', async () => {
    const before = await titles()
    const refused = await team.send('ben', [insert('c', 'New'), insert('d', 'Refused')])
    expect(refused).toMatchObject({ error: { code: 'forbidden', details: { state: '42501', op: 1 } } })
    expect(await titles()).toEqual(before)
  })

  test('a row that a policy hides is neither updated nor deleted, and the client gets an error', async () => {
    const forbidden = { error: { code: 'forbidden', details: { state: '42501', op: 0 } } }
    const update = (id: string) => ({ op: 'u', t: 'Issue', id, p: { title: 'Changed' } })
    const remove = { op: 'd', t: 'Issue', id: 'b' }
    expect(await team.send('ben', [update('a')])).toMatchObject({ sid: expect.any(Number) })
    expect(await team.send('ben', [update('b')])).toMatchObject(forbidden)
    expect(await team.send('ben', [remove])).toMatchObject(forbidden)
    expect(await team.send('ann', [remove])).toMatchObject({ sid: expect.any(Number) })
    expect(await titles()).toEqual([{ id: 'a', title: 'Changed' }])
  })

  test('a trigger may replace a delete, for example by marking the row as deleted', async () => {
    await team.run(
      `create function hide() returns trigger language plpgsql as
        $$ begin update issues set team_id = null where id = old.id; return null; end $$`,
      'create trigger hide before delete on issues for each row execute function hide()',
    )
    const result = await team.send('ann', [{ op: 'd', t: 'Issue', id: 'a' }])
    await team.run('drop trigger hide on issues', 'drop function hide')
    expect(result).toMatchObject({ sid: expect.any(Number) })
    expect(await team.run("select team_id from issues where id = 'a'")).toEqual([{ team_id: null }])
  })

  test('role and settings end with the transaction, accepted or rejected', async () => {
    const session = () =>
      team.log.sql((query) =>
        query(`select current_user::text as role, current_setting('row_security') as security,
          nullif(current_setting('app.user', true), '') as user`),
      )
    const before = await session()
    await team.send('ben', [insert('c', 'New')])
    expect(await session()).toEqual(before)
    await team.send('ben', [insert('d', 'Refused')])
    expect(await session()).toEqual(before)
    expect(before).toMatchObject([{ role: 'postgres', user: null }])
  })

  test.each<[why: string, answer: unknown, reason: RegExp]>([
    ['nothing', undefined, /must return an object with `role` and `settings`/],
    ['a misspelt option', { setings: {} }, /returned `setings`/],
    ['the role of the service', { role: 'none' }, /must return the name of a role/],
    ['no name', { role: '' }, /must return the name of a role/],
    [
      'a setting of PostgreSQL',
      { settings: { row_security: 'off' } },
      /`row_security`; a name must have a dot/,
    ],
    ['a setting that is no text', { settings: { 'app.user': 7 } }, /a text for the setting `app.user`/],
    [
      'an unknown role',
      { role: 'nobody"; reset role' },
      /The role that `as` returned cannot be set: role "nobody"; reset role"/,
    ],
  ])('with %s, nothing is decided, and the log says why', async (_, answer, reason) => {
    actAs = () => answer as ReturnType<ActAs>
    const before = await titles()
    await expect(team.send('ben', [insert('c', 'New')])).rejects.toThrow(/^503/)
    expect(reasons.at(-1)).toMatch(reason)
    expect(await titles()).toEqual(before)
  })
})

test('`as` without `tables` is refused', () => {
  const options = { database: 'memory:', ownerField: 'teamId', authenticate: async () => null }
  expect(() => createSyncService({ ...options, as: () => ({}) })).toThrow(/`as` needs `tables`/)
})
