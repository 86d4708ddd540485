import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { models } from '../../examples/team-app/models.ts'
import { type App, start } from '../../examples/team-app/server.mjs'
import { type ClientOf, memoryStore, SyncClient, silentLogger } from '../../src/index.ts'
import { called } from '../cli/command-line.ts'
import { ownPostgres } from '../support/own-postgres.ts'

type Client = ClientOf<typeof models>

const postgres = ownPostgres()
let app: App
const clients: Client[] = []

beforeAll(async () => {
  app = await start({ database: await postgres.database('team') })
})

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close()
})

afterAll(() => app.close())

const [ada, ben] = ['1', '2']
const tokenOf = async (userId: string) => (await fetch(`${app.url}/token/${userId}`)).text()

async function clientOf(userId: string): Promise<Client> {
  const client = new SyncClient({
    baseUrl: `${app.url}/sync/v1`,
    token: () => tokenOf(userId),
    identity: userId,
    models,
    store: memoryStore(),
    logger: silentLogger,
    pollInterval: 60_000,
  })
  clients.push(client)
  await client.start()
  await expect.poll(() => client.status.connection.state).toBe('socket')
  return client
}

const titlesOf = (client: Client) => client.all('Issue').map(({ title }) => title)

async function callRoute(userId: string, path: string, body?: object) {
  const headers = { Authorization: `Bearer ${await tokenOf(userId)}`, 'Content-Type': 'application/json' }
  const init = body && { method: 'POST', body: JSON.stringify(body) }
  return fetch(`${app.url}/api/${path}`, { ...init, headers })
}

test('a user sees the rows of the own teams, and everybody sees the users', async () => {
  const [a, b] = [await clientOf(ada), await clientOf(ben)]
  expect(titlesOf(a)).toContain('Mend the cable')
  expect(titlesOf(b)).not.toContain('Mend the cable')
  expect(titlesOf(b)).toContain('Paint the ferry')
  expect(b.get('User', '1')?.name).toBe('Ada')
})

test('an issue that is deleted softly is gone, and comes back with its hours', async () => {
  const client = await clientOf(ada)
  const issueOf = () => client.all('Issue').find(({ title }) => title === 'Paint the ferry')
  await postgres.run('team', "update issues set hours = 2.5 where title = 'Paint the ferry'")
  await expect.poll(() => issueOf()?.hours).toBe(2.5)
  const id = issueOf()?.id
  expect((await callRoute(ada, `issues/${id}/delete`, {})).status).toBe(200)
  await expect.poll(issueOf).toBeUndefined()
  expect((await callRoute(ada, `issues/${id}/restore`, {})).status).toBe(200)
  await expect.poll(issueOf).toMatchObject({ id, hours: 2.5 })
})

test('a SQL session that changes 1 000 rows is seen by all clients of the team', async () => {
  const [a, b] = [await clientOf(ada), await clientOf(ben)]
  await postgres.run(
    'team',
    `insert into issues (team_id, project_id, title, author_id)
     select 2, 3, 'Check buoy ' || n, 2 from generate_series(1, 1000) n`,
  )
  const buoys = (client: Client) => titlesOf(client).filter((title) => title.startsWith('Check')).length
  await expect.poll(() => buoys(a)).toBe(1_000)
  await expect.poll(() => buoys(b)).toBe(1_000)
  await postgres.run('team', "update issues set title = 'Done' where title like 'Check%'")
  await expect.poll(() => buoys(a)).toBe(0)
  await expect.poll(() => buoys(b)).toBe(0)
  await postgres.run('team', "delete from issues where title = 'Done'")
  await expect.poll(() => titlesOf(b)).not.toContain('Done')
})

test('a REST route that writes SQL is seen by clients, with what the triggers make of it', async () => {
  const client = await clientOf(ben)
  const created = await callRoute(ben, 'projects/2/issues', { title: 'Rent a crane' })
  expect(created.status).toBe(201)
  const { id, number } = await created.json()
  await expect.poll(() => client.get('Issue', id)?.number).toBe(number)
  expect(await (await callRoute(ben, 'projects/2/close', {})).json()).toEqual({ closed: 3 })
  await expect.poll(() => client.get('Issue', id)?.status).toBe('closed')
  await expect
    .poll(() => client.all('Activity').map(({ text }) => text))
    .toEqual(expect.arrayContaining([`#${number} is closed`]))
  expect(await (await callRoute(ben, 'report')).json()).toContainEqual({
    team: 'Boats',
    status: 'closed',
    issues: 3,
  })
})

test('a user does not change another team by a route, nor a team by a write', async () => {
  const client = await clientOf(ben)
  expect((await callRoute(ben, 'projects/1/issues', { title: 'Sneak in' })).status).toBe(404)
  const rename = client.mutate((m) => m.update('Team', '2', { name: 'Ships' }))
  await rename.settled
  expect(rename.rejection?.reason).toBe('forbidden')
})

test('a private note becomes an issue of the team in one transaction, or stays', async () => {
  const [a, b] = [await clientOf(ada), await clientOf(ben)]
  const insert = a.mutate((m) => m.insert('Note', { id: 'n', text: 'Oil the winch' }))
  await insert.settled
  const promote = (title: string) =>
    a.mutate((m) => {
      m.delete('Note', 'n')
      m.insert('Issue', { owner: 'team:2', projectId: 2, title, status: 'open' })
    })
  const refused = promote('x'.repeat(61))
  await refused.settled
  expect(refused.rejection?.details).toMatchObject({ constraint: 'issues_title_check' })
  expect(a.get('Note', 'n')?.text).toBe('Oil the winch')

  await promote('Oil the winch').settled
  await expect.poll(() => titlesOf(b)).toContain('Oil the winch')
  expect(a.get('Note', 'n')).toBe(undefined)
  expect(b.all('Note')).toEqual([])
  const [row] = await app.query("select team_id, author_id from issues where title = 'Oil the winch'")
  expect(row).toEqual({ team_id: 2, author_id: 1 })
})

test('at the end, `instep check` finds no record that differs from its row', async () => {
  const config = 'examples/team-app/instep.config.mjs'
  const checked = await called(['check', '--config', config], {
    INSTEP_DATABASE: await postgres.database('team'),
  })
  expect(checked.code).toBe(0)
  expect(checked.stdout.match(/^\w+/gm)).toEqual(['Activity', 'Comment', 'Issue', 'Project', 'Team', 'User'])
  expect(checked.stdout.match(/ 0 differing/g)).toHaveLength(6)
})
