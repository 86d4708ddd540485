// The application: its REST routes, and its tables live in a page.
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { Hono } from 'hono'
import { createSyncService, jwtAuthentication, serve, signToken } from 'instep/server'
import { openDatabase } from './database.mjs'
import config from './instep.config.mjs'
import { createRoutes } from './routes.mjs'

/** The types that clients may write. Only the routes and SQL change the others. */
const writable = ['Note', 'Issue', 'Comment']

/** Starts the application. `database`: `memory:`, a folder, or the address of a PostgreSQL. */
export async function start({ port = 0, database = 'memory:' } = {}) {
  const { log, query, end } = await openDatabase(database)

  // Only this process signs and checks tokens, so a random secret is enough.
  const secret = randomBytes(32).toString('hex')
  const authenticate = jwtAuthentication({ secret, owners: ({ sub }) => ownersOf(sub) })
  const service = createSyncService({
    database: log,
    ownerField: config.ownerField,
    authenticate,
    authorize({ ops }) {
      const fixed = ops.find(({ t }) => !writable.includes(t))
      return fixed && { message: `The application changes what is a ${fixed.t}.` }
    },
    prepare(op, { before, caller }) {
      if (op.op === 'd' || op.t === 'Note') return op
      return { ...op, p: { ...op.p, authorId: before?.authorId ?? Number(caller.userId) } }
    },
  })

  /** Returns the owners that a user sees: the user, for private notes; the teams; and the owner of public records. */
  async function ownersOf(userId) {
    const teams = await query('select team_id from memberships where user_id = $1', [userId])
    return [`user:${userId}`, ...teams.map(({ team_id }) => `team:${team_id}`), 'everyone']
  }

  const app = new Hono()
  app.all(`${service.path}/*`, (c) => service.fetch(c.req.raw))
  const userOf = async (request) => (await authenticate(request))?.userId
  app.route('/api', createRoutes({ query, userOf }))

  // In an application, a user signs in here.
  app.get('/token/:user', async (c) => {
    const token = await signToken({ secret, userId: c.req.param('user') })
    return c.text(token, 200, { 'Cache-Control': 'no-store' })
  })
  app.get('/', async (c) => c.html(await readFile(fileOf('index.html'), 'utf8')))
  let script
  app.get('/page.js', async (c) => {
    script ??= buildPage()
    return c.body(await script, 200, { 'Content-Type': 'text/javascript' })
  })

  const served = await serve({ ...service, fetch: (request) => app.fetch(request) }, { port })
  return {
    url: new URL(served.url).origin,
    query,
    async close() {
      await served.close()
      await service.close()
      await end()
    },
  }
}

const fileOf = (name) => fileURLToPath(new URL(name, import.meta.url))

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
