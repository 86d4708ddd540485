import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import { type BareServer, barePrefix } from './bare-server.ts'
import type { BareRequest } from './bare-server-faults.ts'

export interface ListeningBareServer {
  /** The address to give to a client, ending in `/sync/v1`. */
  readonly baseUrl: string
  /** Refuses connections, as a host does on which nothing listens, and ends those that are open. */
  down(): Promise<void>
  /** Listens again, at the same address. */
  up(): Promise<void>
  close(): Promise<void>
}

/** Puts a bare server on a real network: HTTP and WebSocket on a free port of 127.0.0.1. */
export async function listen(server: BareServer): Promise<ListeningBareServer> {
  const http = createServer((incoming, outgoing) => answer(server, incoming, outgoing))
  const upgrades = takeUpgrades(server, http)

  const down = () =>
    new Promise<void>((resolve) => {
      for (const socket of upgrades.clients) socket.terminate()
      http.close(() => resolve())
      http.closeAllConnections()
    })
  const up = (port: number) => new Promise<void>((resolve) => http.listen(port, '127.0.0.1', resolve))
  await up(0)
  const { port } = http.address() as AddressInfo
  return { baseUrl: `http://127.0.0.1:${port}${barePrefix}`, down, up: () => up(port), close: down }
}

function requestOf({ method = '', url = '', headers }: IncomingMessage): BareRequest {
  const { pathname, searchParams } = new URL(url, 'http://127.0.0.1')
  const flat = Object.entries(headers).map(([name, value]) => [name, String(value)])
  return { method, path: pathname, query: searchParams, headers: Object.fromEntries(flat) }
}

/** Opens the sockets that `http` is asked for, as `server` says. */
export function takeUpgrades(server: BareServer, http: Server): WebSocketServer {
  const upgrades = new WebSocketServer({ noServer: true })
  http.on('upgrade', (incoming, socket, head) => {
    socket.on('error', () => {})
    const accept = server.upgrade(requestOf(incoming))
    if (typeof accept !== 'function') {
      socket.end(`HTTP/1.1 ${accept.status} Refused\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`)
      return
    }
    upgrades.handleUpgrade(incoming, socket, head, (opened) => {
      const gone = accept({
        send: (text) => opened.send(text),
        close: (code, reason) => opened.close(code, reason),
        drop: () => opened.terminate(),
      })
      opened.on('error', () => {})
      opened.on('close', gone)
    })
  })
  return upgrades
}

/** Answers one request as `server` does. */
export function answer(server: BareServer, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { status, headers, body, ending = 'whole' } = server.handle(requestOf(incoming))
  if (ending === 'silent') return
  if (ending === 'dropped') {
    outgoing.destroy()
    return
  }
  outgoing.writeHead(status, headers)
  for (const chunk of body) outgoing.write(chunk)
  if (ending === 'whole') outgoing.end()
  // Behind what was written, so that it arrives before the break.
  if (ending === 'cut') outgoing.write('', () => outgoing.destroy())
}
