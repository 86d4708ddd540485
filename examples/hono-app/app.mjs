// Instep in an application on Hono: one process, one port, one sign-in.
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { attachSockets, createSyncService, jwtAuthentication, signToken } from 'instep/server'

/** Starts the application. `secret`: the key that signs its tokens. */
export async function start({ port = 0, secret, database = 'memory:' }) {
  const service = createSyncService({
    database,
    authenticate: jwtAuthentication({ secret }),
    ownerField: 'userId',
  })
  const app = new Hono()
  app.all(`${service.path}/*`, (c) => service.fetch(c.req.raw))
  app.get('/healthz', (c) => service.fetch(c.req.raw))

  // The routes of the application: one signs a user in, the other writes a record. In your application, the first
  // checks a password, and the second checks who sends the request.
  app.post('/sign-in', async (c) => c.text(await signToken({ secret, userId: (await c.req.json()).user })))
  app.post('/welcome/:user', async (c) => {
    const user = c.req.param('user')
    const op = { op: 'i', t: 'Issue', id: `welcome-${user}`, p: { userId: user, title: 'Welcome' } }
    return c.json(await service.write([op]))
  })

  const server = await new Promise((resolve) => {
    const listening = serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }, () => resolve(listening))
  })
  const sockets = attachSockets(server, service)
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    async close() {
      sockets.close()
      await service.close()
      await new Promise((resolve) => server.close(resolve).closeAllConnections())
    },
  }
}
