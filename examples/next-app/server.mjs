// A route of Next's cannot open a socket, so a server of one's own stands before it. Without one, clients poll.
import { EventEmitter } from 'node:events'
import { createServer } from 'node:http'
import { attachSockets } from 'instep/server'
import { syncService } from './sync.mjs'

/** Starts Next behind a server; `next` is what its package exports. */
export async function start({ next, dev = false, port = 3000 }) {
  // Next ends each socket that is asked for at one of its routes, so it is told of those alone that are not the service's.
  const others = new EventEmitter()
  const app = next({ dev, httpServer: others })
  await app.prepare()
  const handle = app.getRequestHandler()
  const service = syncService()
  const server = createServer((request, response) => void handle(request, response))
  const sockets = attachSockets(server, service)
  server.on('upgrade', (request, socket, head) => {
    if (!request.url.startsWith(`${service.path}/`)) others.emit('upgrade', request, socket, head)
  })
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
