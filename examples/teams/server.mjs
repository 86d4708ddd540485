// Private notes beside the issues of several teams: the owners of a user, and the routes to join and leave.
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { Hono } from 'hono'
import { createSyncService, jwtAuthentication, serve, signToken } from 'instep/server'
import { authorize, createPrepare } from './rules.mjs'

const users = ['ada', 'ben']
const teams = ['red', 'blue']
const fileOf = (name) => fileURLToPath(new URL(name, import.meta.url))

/** Starts the application. `database`: `memory:`, or a folder. */
export async function start({ port = 0, database = 'memory:' } = {}) {
  // Only this process signs and checks tokens, so a random secret is enough.
  const secret = randomBytes(32).toString('hex')

  // The token says who the user is. The teams are looked up, so that joining and leaving needs no new token.
  const authenticate = jwtAuthentication({ secret, owners: ({ sub }) => ownersOf(sub) })
  async function ownersOf(userId) {
    const owners = [`user:${userId}`]
    for await (const { team } of service.query('Membership', { owner: `user:${userId}` })) {
      owners.push(`team:${team}`)
    }
    return owners
  }

  let lastNumber = 0
  const service = createSyncService({
    database,
    authenticate,
    ownerField: 'owner',
    authorize,
    // With several processes, take the number from a sequence of your database.
    prepare: createPrepare(() => {
      lastNumber += 1
      return lastNumber
    }),
  })
  // Without owners, the database is new.
  const { done: isNew } = await service.owners()[Symbol.asyncIterator]().next()
  if (isNew) await service.write(firstRecords)
  for await (const { number } of service.query('Issue')) lastNumber = Math.max(lastNumber, number)

  const app = new Hono()
  app.all(`${service.path}/*`, (c) => service.fetch(c.req.raw))

  // In an application, a user signs in here.
  app.get('/token', async (c) => {
    const userId = c.req.query('user')
    if (!users.includes(userId)) return c.text('There is no such user.', 404)
    return c.text(await signToken({ secret, userId }), 200, { 'Cache-Control': 'no-store' })
  })

  // In an application, check here whether the user may join.
  app.on(['PUT', 'DELETE'], '/teams/:team/members', async (c) => {
    const { userId } = (await authenticate(c.req.raw)) ?? {}
    if (!userId) return c.text('Please sign in.', 401)
    const team = c.req.param('team')
    if (!teams.includes(team)) return c.text('There is no such team.', 404)
    const joins = c.req.method === 'PUT'
    await service.write([joins ? membership(team, userId) : removal(team, userId)])
    // Closes the user's sockets. The client connects again, and fetches what its new owners have.
    service.revoke((caller) => caller.userId === userId)
    return c.body(null, 204)
  })

  let script
  app.get('/', async (c) => c.html(await readFile(fileOf('index.html'), 'utf8')))
  app.get('/page.js', async (c) => {
    script ??= buildPage()
    return c.body(await script, 200, { 'Content-Type': 'text/javascript' })
  })

  const served = await serve({ ...service, fetch: (request) => app.fetch(request) }, { port })
  return {
    url: new URL(served.url).origin,
    async close() {
      await served.close()
      await service.close()
    },
  }
}

const membership = (team, userId, role = 'member') => {
  const p = { owner: `user:${userId}`, team, role }
  return { op: 'i', t: 'Membership', id: `${team}/${userId}`, p, put: true }
}

const removal = (team, userId) => ({ op: 'd', t: 'Membership', id: `${team}/${userId}` })

const issue = (number, team, author, title) => {
  const p = { owner: `team:${team}`, number, title, author, status: 'open', createdAt: 0, changedAt: 0 }
  return { op: 'i', t: 'Issue', id: `issue-${number}`, p }
}

const comment = (id, number, team, author, text) => {
  const p = { owner: `team:${team}`, issue: `issue-${number}`, text, author, createdAt: 0, changedAt: 0 }
  return { op: 'i', t: 'Comment', id, p }
}

const firstRecords = [
  membership('red', 'ada', 'admin'),
  membership('blue', 'ada'),
  membership('blue', 'ben'),
  { op: 'i', t: 'Note', id: 'welcome', p: { owner: 'user:ada', text: 'Only Ada sees this.' } },
  { op: 'i', t: 'Note', id: 'welcome-ben', p: { owner: 'user:ben', text: 'Only Ben sees this.' } },
  issue(1, 'red', 'ada', 'Mend the cable'),
  comment('c1', 1, 'red', 'ada', 'It is under the bridge.'),
  issue(2, 'blue', 'ben', 'Count the boats'),
  comment('c2', 2, 'blue', 'ben', 'Twelve so far.'),
]

/** Bundles the page's script in memory. */
async function buildPage() {
  const { outputFiles } = await build({
    entryPoints: [fileOf('page.tsx')],
    bundle: true,
    write: false,
    format: 'esm',
    minify: true,
    define: { 'process.env.NODE_ENV': '"production"' },
    // Not the project's own options, which map the package to its sources.
    tsconfigRaw: { compilerOptions: { jsx: 'react-jsx' } },
  })
  return outputFiles[0].text
}
