import { randomBytes } from 'node:crypto'
import { serveStatic } from '@hono/node-server/serve-static'
import { Hono } from 'hono'
import { createSyncService, jwtAuthentication, serve, signToken } from 'instep/server'
import { models, teams, users } from '../models.ts'
import { firstRecords, membership } from './first-records.ts'
import { authorize, prepare } from './rules.ts'

export interface StartOptions {
  readonly port: number
  /** A folder, `memory:`, or the address of a PostgreSQL. */
  readonly database: string
  /** The folder with the built page. */
  readonly page: string
}

export interface App {
  /** The address of the page, without a slash at its end. */
  readonly url: string
  close(): Promise<void>
}

export async function start({ port, database, page }: StartOptions): Promise<App> {
  // Without a secret of its own, each start makes a new one, and the pages get new tokens.
  const secret = process.env.JWT_SECRET ?? randomBytes(32).toString('hex')

  // The token says who the user is. The teams are looked up, so that joining and leaving needs no new token.
  const authenticate = jwtAuthentication({ secret, owners: ({ sub }) => ownersOf(String(sub)) })
  async function ownersOf(userId: string): Promise<string[]> {
    const owners = [`user:${userId}`]
    for await (const { team } of service.query('Membership', { owner: `user:${userId}` }))
      owners.push(`team:${team}`)
    return owners
  }

  const service = createSyncService({
    database,
    authenticate,
    ownerField: 'owner',
    models,
    authorize,
    prepare,
  })
  const { done: isNew } = await service.owners()[Symbol.asyncIterator]().next()
  if (isNew) await service.write(firstRecords)

  const app = new Hono()
  app.all(`${service.path}/*`, (c) => service.fetch(c.req.raw))

  // FOR DEVELOPMENT ONLY: whoever asks is signed in. In an application, check a password or ask a provider here.
  app.post('/sign-in/:user', async (c) => {
    const userId = c.req.param('user')
    if (!users.includes(userId)) return c.text('There is no such user.', 404)
    return c.text(await signToken({ secret, userId }), 200, { 'Cache-Control': 'no-store' })
  })

  // In an application, check here whether the user may join.
  app.on(['PUT', 'DELETE'], '/teams/:team/members', async (c) => {
    const caller = await authenticate(c.req.raw)
    if (!caller || !('userId' in caller)) return c.text('Please sign in.', 401)
    const team = c.req.param('team') ?? ''
    if (!teams.includes(team)) return c.text('There is no such team.', 404)
    const { userId } = caller
    const leaves = c.req.method === 'DELETE'
    await service.write([
      leaves ? { op: 'd', t: 'Membership', id: `${team}/${userId}` } : membership(team, userId),
    ])
    // Closes the user's sockets. The client connects again, and fetches what its new owners have.
    service.revoke((other) => other.userId === userId)
    return c.body(null, 204)
  })

  app.use(serveStatic({ root: page }))

  const served = await serve({ ...service, fetch: async (request) => app.fetch(request) }, { port })
  return {
    url: new URL(served.url).origin,
    async close() {
      await served.close()
      await service.close()
    },
  }
}
