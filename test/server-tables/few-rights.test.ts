import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { WireRow } from '../../src/protocol/row.ts'
import type { TxResponse } from '../../src/protocol/tx.ts'
import { bearerToken, createSyncService, openSqlLog, type SyncService } from '../../src/server/index.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { healthOf, openTeam, schema, type Team, tables, teams } from './team.ts'

/* The service has a role with few rights, and somebody takes one of them away. Only that table is set aside. */

const postgres = ownPostgres()
const soon = { timeout: 10_000, interval: 100 }
const rights = 'select, insert, update, delete'

let team: Team
let service: SyncService

beforeAll(async () => {
  const inApp = schema.map((statement) => statement.replace('table issues', 'table app.issues'))
  const found = inApp.map((statement) => statement.replace('references issues', 'references app.issues'))
  const mapped = { ...tables, Issue: { ...tables.Issue, table: 'app.issues' } }
  team = await openTeam('PostgreSQL', {
    postgres,
    name: 'few_rights',
    schema: ['create schema app', ...found],
    log: { tables: mapped },
  })
  await team.run(
    'create role clerk login',
    'grant usage on schema public, app to clerk',
    `grant ${rights} on all tables in schema public to clerk`,
    'grant usage on all sequences in schema public to clerk',
    `grant ${rights} on app.issues to clerk`,
    "insert into app.issues (id, team_id, title) values ('a', 'red', 'One')",
  )
  const [{ name = '' } = {}] = await team.run('select current_database() as name')
  const address = (await postgres.database(String(name))).replace('//postgres@', '//clerk@')
  const log = await openSqlLog(address, { tables: mapped })
  service = createSyncService({
    database: log,
    ownerField: 'teamId',
    authenticate: async (request) => {
      const userId = bearerToken(request) ?? ''
      return { userId, owners: teams[userId] ?? [] }
    },
  })
  await service.ready()
  await vi.waitFor(async () => expect(await titles()).toEqual(['One']), soon)
})

afterAll(async () => {
  await service.close()
  await team.close()
})

const ask = async (path: string, body?: object) => {
  const headers = { Authorization: 'Bearer ann', 'Content-Type': 'application/json' }
  const init = body ? { method: 'POST', body: JSON.stringify(body) } : {}
  return service.fetch(new Request(`https://sync.test${path}`, { ...init, headers }))
}
const health = () => healthOf(service)
const titles = async () => {
  const { rows }: { rows: readonly WireRow[] } = await (await ask('/sync/v1/bootstrap')).json()
  return rows.filter(({ t }) => t === 'Issue').map(({ p }) => p.title)
}
let sent = 0
const send = async (op: object) => {
  sent += 1
  const txs = [{ id: `t-${sent}`, since: 0, ops: [op] }]
  const { results }: TxResponse = await (
    await ask('/sync/v1/tx', { txs, features: ['type_unavailable'] })
  ).json()
  return results?.[0]
}
const retitle = (title: string) => send({ op: 'u', t: 'Issue', id: 'a', p: { title } })
const accepted = { sid: expect.any(Number) }

test.each([
  ['`select`', 'revoke select on app.issues from clerk', 'grant select on app.issues to clerk'],
  [
    '`select` on one column',
    'revoke select on app.issues from clerk; grant select (id, team_id, status, size, created_at) on app.issues to clerk',
    'grant select on app.issues to clerk',
  ],
  [
    'the rows, by policies',
    'alter table app.issues enable row level security; alter table app.issues force row level security',
    'alter table app.issues no force row level security; alter table app.issues disable row level security',
  ],
  ['the schema', 'revoke usage on schema app from clerk', 'grant usage on schema app to clerk'],
])(
  'a table without the right to %s is set aside, and nothing else, until the right is back',
  async (what, take, give) => {
    const before = await titles()
    await team.run(take)
    // Somebody else writes to the table before the service has noticed.
    await team.run(`update app.issues set title = 'While ${what.replaceAll('`', '')}' where id = 'a'`)
    const comment = {
      op: 'i',
      t: 'Comment',
      id: String(100 + sent),
      p: { teamId: 'red', issue: 'a', text: 'x' },
    }
    const note = { op: 'i', t: 'Note', id: `n-${sent}`, p: { teamId: 'red' } }
    expect(await send(note)).toMatchObject(accepted)
    if (what !== 'the schema') expect(await send(comment)).toMatchObject(accepted)
    await expect.poll(health, soon).toBe('{"status":"degraded"}')
    expect(await retitle('Lost')).toMatchObject({ error: { code: 'type_unavailable' } })
    expect(await titles()).toEqual(before)
    await team.run(give)
    await expect.poll(titles, soon).toEqual([`While ${what.replaceAll('`', '')}`])
    await expect.poll(health, soon).toBe('{"status":"ok"}')
    expect(await retitle(what)).toMatchObject(accepted)
  },
)

test('a table that may not be written is no verdict, and reads of it go on', async () => {
  await team.run('revoke update on app.issues from clerk')
  expect(await retitle('Lost')).toMatchObject({ error: { code: 'type_unavailable' } })
  expect(await health()).toBe('{"status":"degraded"}')
  await team.run("update app.issues set title = 'Read' where id = 'a'")
  await expect.poll(titles, soon).toEqual(['Read'])
  expect(await send({ op: 'i', t: 'Note', id: 'more', p: { teamId: 'red' } })).toMatchObject(accepted)
  await team.run('grant update on app.issues to clerk')
  expect(await retitle('Written')).toMatchObject(accepted)
  expect(await health()).toBe('{"status":"ok"}')
})
