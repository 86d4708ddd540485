// A route of Next's cannot open a socket, so a server of one's own stands before it. Without one, clients poll.
import { createServer } from 'node:http'
import { attachSockets } from 'instep/server'
import { syncService } from './sync.mjs'

/** Starts Next behind a server; `app` is what `next({ dev })` gives. */
export async function start({ app, port = 3000 }) {
  await app.prepare()
  const handle = app.getRequestHandler()
  const service = syncService()
  const server = createServer((request, response) => void handle(request, response))
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
