// Instep in an application on Express: one process, one port, one sign-in.
import { createServer } from 'node:http'
import express from 'express'
import { attachSockets, createSyncService, jwtAuthentication, nodeHandler, signToken } from 'instep/server'

/** Starts the application. `secret`: the key that signs its tokens. */
export async function start({ port = 0, secret, database = 'memory:' }) {
  const service = createSyncService({
    database,
    authenticate: jwtAuthentication({ secret }),
    ownerField: 'userId',
  })
  const app = express()
  // Register before `express.json()`, which would consume the bodies of `tx` requests.
  app.use([service.path, '/healthz'], nodeHandler(service))
  app.use(express.json())

  // The routes of the application: one signs a user in, the other writes a record. In your application, the first
  // checks a password, and the second checks who sends the request.
  app.post('/sign-in', async (request, response) => {
    response.send(await signToken({ secret, userId: request.body.user }))
  })
  app.post('/welcome/:user', async (request, response) => {
    const { user } = request.params
    const op = { op: 'i', t: 'Issue', id: `welcome-${user}`, p: { userId: user, title: 'Welcome' } }
    response.json(await service.write([op]))
  })

  const server = createServer(app)
  const sockets = attachSockets(server, service)
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    async close() {
      sockets.close()
      await service.close()
      await new Promise((resolve) => server.close(resolve).closeAllConnections())
    },
  }
}
