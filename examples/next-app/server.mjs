// Runs Next in a custom server, which handles the sockets: a route of Next cannot. Without this server, clients poll.
import { EventEmitter } from 'node:events'
import { createServer } from 'node:http'
import { attachSockets } from 'instep/server'
import { syncService } from './sync.mjs'

/** Starts Next in a custom server. `next`: the default export of the package `next`. */
export async function start({ next, dev = false, port = 3000 }) {
  // Next closes sockets on its routes, so it must not see those of the service: pass it only the other upgrades.
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
