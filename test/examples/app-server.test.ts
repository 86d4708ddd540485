import { afterEach, beforeEach, expect, test } from 'vitest'
import { models } from '../../examples/app/models.ts'
import { type App, start } from '../../examples/app/server/server.ts'
import { type ClientOf, memoryStore, SyncClient, silentLogger } from '../../src/index.ts'

type Client = ClientOf<typeof models>

let app: App
const clients: Client[] = []
const tokenOf = async (user: string) => (await fetch(`${app.url}/sign-in/${user}`, { method: 'POST' })).text()

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
  [...client.all('Note').map(({ text }) => text), ...client.all('Issue').map(({ title }) => title)].sort()

/** The server's message if it refuses the write; undefined if it accepts the write. */
async function refusalOf(client: Client, write: Parameters<Client['mutate']>[0]) {
  const transaction = client.mutate(write)
  await transaction.settled
  return transaction.rejection?.message
}

const red = ['Mend the cable']
const blue = ['Count the boats', 'Paint the ferry']

beforeEach(async () => {
  app = await start({ port: 0, database: 'memory:', page: 'examples/app' })
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
  expect(await refusalOf(ada, (m) => m.delete('Note', 'note-ada'))).toBe(undefined)
  await expect.poll(() => ada.get('Note', 'n')?.owner).toBe('user:ada')
  expect(ada.get('Note', 'note-ada')).toBe(undefined)
  expect(ben.all('Note').map(({ id }) => id)).toEqual(['note-ben'])
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
  await expect.poll(() => ada.get('Issue', 'cable')).toBe(undefined)
  const insert = { owner: 'team:red', title: 'Still here', hours: null, status: 'open' } as const
  expect(await refusalOf(ada, (m) => m.insert('Issue', insert))).toBeTypeOf('string')
})

test('a closed issue is not changed before it is reopened, whatever the client sends', async () => {
  const ada = await clientOf('ada')
  const closing = ada.mutate((m) => m.update('Issue', 'boats', { status: 'closed' }))
  await closing.settled
  const message = '“Count the boats” is closed. Reopen it to change it.'
  expect(await refusalOf(ada, (m) => m.update('Issue', 'boats', { title: 'New' }))).toBe(message)
  expect(await refusalOf(ada, (m) => m.delete('Issue', 'boats'))).toBe(message)
  const put = { id: 'boats', owner: 'team:blue', title: 'New', hours: null, status: 'closed' } as const
  expect(await refusalOf(ada, (m) => m.put('Issue', put))).toBe(message)

  const undo = await closing.undo()
  if (undo) await undo.settled
  expect(await refusalOf(ada, (m) => m.update('Issue', 'boats', { title: 'New' }))).toBe(undefined)
})

test('only its author deletes an issue', async () => {
  const [ada, ben] = [await clientOf('ada'), await clientOf('ben')]
  const remove = (client: Client) => refusalOf(client, (m) => m.delete('Issue', 'boats'))
  expect(await remove(ada)).toBe('Only its author deletes an issue.')
  expect(await remove(ben)).toBe(undefined)
  await expect.poll(() => ada.get('Issue', 'boats')).toBe(undefined)
})

test('the server sets author and time, and checks the model', async () => {
  const ben = await clientOf('ben')
  const forged = {
    owner: 'team:blue',
    title: 'Tar',
    hours: 1,
    status: 'open',
    author: 'ada',
    createdAt: 7,
  } as const
  expect(await refusalOf(ben, (m) => m.insert('Issue', { id: 'new', ...forged }))).toBe(undefined)
  await expect.poll(() => ben.get('Issue', 'new')?.author).toBe('ben')
  expect(ben.get('Issue', 'new')?.createdAt).toBeGreaterThan(1_600_000_000_000)
  expect(await refusalOf(ben, (m) => m.update('Issue', 'new', { author: 'ada', hours: 2 }))).toBe(undefined)
  await expect.poll(() => ben.confirmed('Issue', 'new')?.record).toMatchObject({ author: 'ben', hours: 2 })

  const op = { op: 'u', t: 'Issue', id: 'new', p: { hours: -1 } }
  const response = await fetch(`${app.url}/sync/v1/tx`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${await tokenOf('ben')}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ txs: [{ id: 'wrong', since: 0, ops: [op] }] }),
  })
  expect(await response.json()).toMatchObject({ results: [{ error: { code: 'invalid' } }] })
})

test('an admin moves an issue to another team, and a member does not', async () => {
  const [ada, ben] = [await clientOf('ada'), await clientOf('ben')]
  const move = (id: string, owner: string) => refusalOf(ada, (m) => m.update('Issue', id, { owner }))
  expect(await move('boats', 'team:red')).toBe('Only admins move issues to other teams.')
  expect(await move('cable', 'team:blue')).toBe(undefined)
  await expect.poll(() => ben.get('Issue', 'cable')?.title).toBe('Mend the cable')
})

test('nobody signs in as a stranger, or joins without signing in', async () => {
  expect((await fetch(`${app.url}/sign-in/eve`, { method: 'POST' })).status).toBe(404)
  expect((await fetch(`${app.url}/teams/red/members`, { method: 'PUT' })).status).toBe(401)
})
