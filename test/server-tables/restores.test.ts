import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { memoryStore, SyncClient, silentLogger } from '../../src/index.ts'
import { serve } from '../../src/server/index.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { kinds, openTeam, type Team } from './team.ts'

const postgres = ownPostgres()

/** A table with columns that the database sets, and some that a member may not write. */
const schema = [
  `create table tasks (
    id text primary key,
    team text not null,
    title text not null,
    title_length int generated always as (length(title)) stored,
    number int generated always as identity,
    author text not null default current_setting('app.user'),
    approved boolean not null default false,
    updated_at timestamptz
  )`,
  'create table tickets (id int generated always as identity primary key, team text not null, title text)',
  `create function touch() returns trigger language plpgsql as
    $$ begin new.updated_at = clock_timestamp(); return new; end $$`,
  'create trigger touched before insert or update on tasks for each row execute function touch()',
  'create role restorer',
  'grant select, delete, insert (id, team, title), update (title) on tasks to restorer',
  'grant select, delete, insert, update on tickets to restorer',
]
const tables = {
  Task: {
    table: 'tasks',
    id: 'id',
    owner: 'team',
    fields: [
      'title',
      'number',
      'author',
      'approved',
      { titleLength: 'title_length' },
      { updatedAt: 'updated_at' },
    ],
  },
  Ticket: { table: 'tickets', id: 'id', owner: 'team', fields: ['title'] },
}

describe.each(kinds)('undo on attached tables with columns that the database sets, on %s,', (kind) => {
  let team: Team
  let url: string
  let stop: () => Promise<void>
  let client: SyncClient

  beforeAll(async () => {
    const drop = kind === 'PostgreSQL' ? ['drop role if exists restorer'] : []
    team = await openTeam(kind, {
      postgres,
      name: 'restores',
      schema: [...drop, ...schema],
      log: { tables },
      service: { as: ({ userId }) => ({ role: 'restorer', settings: { 'app.user': userId } }) },
    })
    await team.service.ready()
    const served = await serve(team.service, { port: 0 })
    url = served.url
    stop = async () => served.close()
  })

  afterAll(async () => {
    await stop()
    await team.close()
  })

  beforeEach(async () => {
    await team.run('truncate tasks, tickets')
    await team.run(
      "insert into tasks (id, team, title, author, approved) values ('a', 'red', 'From Ada', 'ada', true)",
    )
    const options = { token: 'ann', identity: 'ann', store: memoryStore(), logger: silentLogger }
    client = new SyncClient({ baseUrl: url, ...options })
    await client.start()
    await expect.poll(() => client.get('Task', 'a')).toMatchObject({ title: 'From Ada', author: 'ada' })
    return () => client.close()
  })

  const stored = () =>
    team.run('select id, team, title, title_length, author, approved from tasks order by id')
  const undo = async () => {
    await client.undo()
    await expect.poll(() => client.status.writes.pending).toBe(0)
  }
  const refused = () => client.outbox.list({ state: 'rejected' }).map(({ rejection }) => rejection)

  test('restores an updated field', async () => {
    const before = await stored()
    await client.mutate((m) => m.update('Task', 'a', { title: 'Changed' })).synced
    await undo()
    expect(refused()).toEqual([])
    expect(await stored()).toEqual(before)
  })

  test('brings a deleted row of somebody else back with what it had', async () => {
    const before = await stored()
    await client.mutate((m) => m.delete('Task', 'a')).synced
    expect(await stored()).toEqual([])
    await undo()
    expect(refused()).toEqual([])
    expect(await stored()).toEqual(before)
    expect(client.get('Task', 'a')).toMatchObject({ author: 'ada', approved: true, titleLength: 8 })
  })

  test('brings a deleted row back under the key that the database had made', async () => {
    await team.run("insert into tickets (team, title) values ('red', 'First')")
    await expect.poll(() => client.all('Ticket')).toMatchObject([{ title: 'First' }])
    const before = await team.run('select * from tickets')
    await client.mutate((m) => m.delete('Ticket', String(before[0]?.id))).synced
    await undo()
    expect(refused()).toEqual([])
    expect(await team.run('select * from tickets')).toEqual(before)
  })

  test('brings no row back that somebody else has deleted before', async () => {
    await team.run('delete from tasks')
    const send = async (id: string, op: object) => {
      const body = JSON.stringify({ txs: [{ id, since: 0, ops: [{ t: 'Task', id: 'a', ...op }] }] })
      const headers = { authorization: 'Bearer ann', 'content-type': 'application/json' }
      return (await fetch(`${url}/tx`, { method: 'POST', headers, body })).json()
    }
    await send('removal', { op: 'd' })
    const answer = await send('undo', { op: 'i', p: {}, was: null, restores: 'removal' })
    expect(answer.results).toEqual([{ id: 'undo', sid: expect.any(Number) }])
    expect(await stored()).toEqual([])
  })

  test('is refused if the role may not insert', async () => {
    await team.run('revoke insert (id) on tasks from restorer')
    await client.mutate((m) => m.delete('Task', 'a')).synced
    await undo()
    await team.run('grant insert (id) on tasks to restorer')
    expect(refused()).toMatchObject([{ reason: 'forbidden' }])
    expect(await stored()).toEqual([])
  })
})
