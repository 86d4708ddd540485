import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

export interface LocalServer {
  readonly server: Server
  readonly port: number
  /** The requests that came, upgrades included. */
  readonly requests: IncomingMessage[]
  /** Settles with the next request. */
  next(): Promise<IncomingMessage>
  close(): Promise<void>
}

/** A server on this machine, for the time of a test. */
export async function localServer(listener: RequestListener): Promise<LocalServer> {
  const requests: IncomingMessage[] = []
  const sockets = new Set<Socket>()
  const server = createServer(listener)
  server.on('request', (request) => requests.push(request))
  server.on('upgrade', (request) => requests.push(request))
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    server,
    port: (server.address() as AddressInfo).port,
    requests,
    async next() {
      const event = await Promise.race([once(server, 'request'), once(server, 'upgrade')])
      return event[0] as IncomingMessage
    },
    async close() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
