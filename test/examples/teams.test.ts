import { afterEach, beforeEach, expect, test } from 'vitest'
import { models } from '../../examples/teams/models.ts'
import { type App, start } from '../../examples/teams/server.mjs'
import { type ClientOf, memoryStore, SyncClient, silentLogger } from '../../src/index.ts'

type Client = ClientOf<typeof models>

let app: App
const clients: Client[] = []
const tokenOf = async (user: string) => (await fetch(`${app.url}/token?user=${user}`)).text()

function createClient(user: string, store = memoryStore(), environment = {}): Client {
  const client = new SyncClient({
    baseUrl: `${app.url}/sync/v1`,
    token: () => tokenOf(user),
    identity: user,
    models,
    store,
    environment,
    logger: silentLogger,
    pollInterval: 60_000,
  })
  clients.push(client)
  return client
}

async function clientOf(user: string, store = memoryStore()): Promise<Client> {
  const client = createClient(user, store)
  await client.start()
  await expect.poll(() => client.status.connection.state).toBe('socket')
  return client
}

async function setMember(user: string, team: string, isMember: boolean): Promise<void> {
  const headers = { Authorization: `Bearer ${await tokenOf(user)}` }
  const { status } = await fetch(`${app.url}/teams/${team}/members`, {
    method: isMember ? 'PUT' : 'DELETE',
    headers,
  })
  expect(status).toBe(204)
}

/** What a client shows: the texts of all its records. */
const textsOf = (client: Client) =>
  [
    ...client.all('Note').map(({ text }) => text),
    ...client.all('Issue').map(({ title }) => title),
    ...client.all('Comment').map(({ text }) => text),
  ].sort()

/** The server's message if it refuses the write; undefined if it accepts the write. */
async function refusalOf(client: Client, write: Parameters<Client['mutate']>[0]) {
  const transaction = client.mutate(write)
  await transaction.settled
  return transaction.rejection?.message
}

const red = ['It is under the bridge.', 'Mend the cable']
const blue = ['Count the boats', 'Twelve so far.']

beforeEach(async () => {
  app = await start()
})

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close()
  await app.close()
})

test('a user sees the own notes and the issues of all own teams, in one client', async () => {
  expect(textsOf(await clientOf('ada'))).toEqual([...red, ...blue, 'Only Ada sees this.'].sort())
  expect(textsOf(await clientOf('ben'))).toEqual([...blue, 'Only Ben sees this.'].sort())
})

test('a user writes and deletes own notes, which nobody else gets', async () => {
  const [ada, ben] = [await clientOf('ada'), await clientOf('ben')]
  expect(await refusalOf(ada, (m) => m.insert('Note', { id: 'n', text: 'Buy milk' }))).toBe(undefined)
  expect(await refusalOf(ada, (m) => m.delete('Note', 'welcome'))).toBe(undefined)
  await expect.poll(() => ada.get('Note', 'n')?.owner).toBe('user:ada')
  expect(ada.get('Note', 'welcome')).toBe(undefined)
  expect(ben.all('Note').map(({ id }) => id)).toEqual(['welcome-ben'])
})

test('a user does not become a member by a write', async () => {
  const ben = await clientOf('ben')
  const membership = { id: 'red/ben', owner: 'user:ben', team: 'red', role: 'admin' } as const
  expect(await refusalOf(ben, (m) => m.insert('Membership', membership))).toBe(
    'The application decides who is in a team.',
  )
})

test('who joins a team gets all of it, and who leaves keeps nothing of it, on the disk either', async () => {
  const store = memoryStore()
  const ben = await clientOf('ben', store)
  await setMember('ben', 'red', true)
  await expect.poll(() => textsOf(ben)).toEqual([...red, ...blue, 'Only Ben sees this.'].sort())

  await setMember('ben', 'red', false)
  const left = [...blue, 'Only Ben sees this.'].sort()
  await expect.poll(() => textsOf(ben)).toEqual(left)
  await ben.close()

  const offline = async () => Promise.reject(new TypeError('offline'))
  const restarted = createClient('ben', store, { fetch: offline })
  await restarted.start()
  expect(textsOf(restarted)).toEqual(left)
})

test('a member who has left writes nothing more to the team', async () => {
  const ada = await clientOf('ada')
  await setMember('ada', 'red', false)
  await expect.poll(() => ada.get('Issue', 'issue-1')).toBe(undefined)
  const insert = { owner: 'team:red', title: 'Still here', status: 'open' } as const
  expect(await refusalOf(ada, (m) => m.insert('Issue', insert))).toBeTypeOf('string')
})

test('what is closed stays closed, whatever the client sends', async () => {
  const ada = await clientOf('ada')
  expect(await refusalOf(ada, (m) => m.update('Issue', 'issue-2', { status: 'closed' }))).toBe(undefined)
  const message = 'Issue 2 is closed, and stays closed.'
  expect(await refusalOf(ada, (m) => m.update('Issue', 'issue-2', { status: 'open' }))).toBe(message)
  expect(await refusalOf(ada, (m) => m.delete('Issue', 'issue-2'))).toBe(message)

  const put = {
    op: 'i',
    t: 'Issue',
    id: 'issue-2',
    p: { owner: 'team:blue', title: 'New', status: 'open' },
    put: true,
  }
  const response = await fetch(`${app.url}/sync/v1/tx`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${await tokenOf('ada')}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ txs: [{ id: 'put', since: 0, ops: [put] }] }),
  })
  expect(await response.json()).toMatchObject({ results: [{ error: { message } }] })
  expect(ada.get('Issue', 'issue-2')).toMatchObject({ title: 'Count the boats', status: 'closed' })
})

test('only its author edits a comment', async () => {
  const [ada, ben] = [await clientOf('ada'), await clientOf('ben')]
  const edit = (client: Client) => refusalOf(client, (m) => m.update('Comment', 'c2', { text: 'Thirteen.' }))
  expect(await edit(ada)).toBe('Only its author edits a comment.')
  expect(ada.get('Comment', 'c2')?.text).toBe('Twelve so far.')
  expect(await edit(ben)).toBe(undefined)
  await expect.poll(() => ada.get('Comment', 'c2')?.text).toBe('Thirteen.')
})

test('the server sets author, number and time', async () => {
  const ben = await clientOf('ben')
  const forged = {
    owner: 'team:blue',
    title: 'Paint them',
    status: 'open',
    author: 'ada',
    number: 77,
  } as const
  const write = ben.mutate((m) => m.insert('Issue', { id: 'new', ...forged }))
  await write.settled
  await expect.poll(() => ben.get('Issue', 'new')?.author).toBe('ben')
  const { number, createdAt } = ben.get('Issue', 'new') ?? {}
  expect(number).toBe(3)
  expect(createdAt).toBeGreaterThan(1_600_000_000_000)
})

test('an admin moves an issue with the comments of all to another team, and a member does not', async () => {
  const [ada, ben] = [await clientOf('ada'), await clientOf('ben')]
  const move = (client: Client, number: number, owner: string) =>
    refusalOf(client, (m) => {
      m.update('Issue', `issue-${number}`, { owner })
      for (const { id } of client.query('Comment', { where: { issue: `issue-${number}` } }).rows) {
        m.update('Comment', id, { owner })
      }
    })
  expect(await move(ada, 2, 'team:red')).toBe('Only admins of a team move its issues.')

  await setMember('ben', 'red', true)
  await expect.poll(() => ben.get('Issue', 'issue-1')?.title).toBe('Mend the cable')
  const insert = { id: 'c3', owner: 'team:red', issue: 'issue-1', text: 'Found it.' }
  expect(await refusalOf(ben, (m) => m.insert('Comment', insert))).toBe(undefined)
  await expect.poll(() => ada.get('Comment', 'c3')?.author).toBe('ben')
  expect(await move(ada, 1, 'team:blue')).toBe(undefined)
  await expect.poll(() => ben.get('Comment', 'c3')?.owner).toBe('team:blue')
  await expect.poll(() => ben.get('Issue', 'issue-1')?.owner).toBe('team:blue')
})

test('the application serves its page, and lets nobody join without signing in', async () => {
  expect(await (await fetch(app.url)).text()).toContain('<script type="module" src="/page.js">')
  expect((await fetch(`${app.url}/page.js`)).headers.get('Content-Type')).toBe('text/javascript')
  expect((await fetch(`${app.url}/teams/red/members`, { method: 'PUT' })).status).toBe(401)
})
