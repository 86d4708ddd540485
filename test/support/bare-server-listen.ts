import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { WebSocketServer } from 'ws'
import { type BareServer, barePrefix } from './bare-server.ts'
import { type BareRequest, type BareResponse, bytesOf } from './bare-server-faults.ts'
import type { VirtualServer } from './virtual.ts'

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

function requestOf({ method = '', url = '', headers }: IncomingMessage | Request): BareRequest {
  const { pathname, searchParams } = new URL(url, 'http://127.0.0.1')
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers)
  const flat = entries.map(([name, value]) => [name, String(value)])
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

/** A bare server on a virtual network. */
export interface VirtualBareServer extends VirtualServer {
  /** Refuses connections, as a host does on which nothing listens, and ends those that are open. */
  down(): void
  up(): void
}

export function virtualMount(server: BareServer): VirtualBareServer {
  let listening = true
  return {
    down() {
      listening = false
      server.sockets.end()
    },
    up() {
      listening = true
    },
    async fetch(request) {
      if (!listening) throw new Error('Connection refused.')
      return responseOf(server.handle(requestOf(request)))
    },
    async upgrade(request) {
      if (!listening) throw new Error('Connection refused.')
      const accept = server.upgrade(requestOf(request))
      if (typeof accept !== 'function') return responseOf(accept)
      return (socket) => {
        const gone = accept({
          send: (text) => socket.send(text),
          close: (code, reason) => socket.close(code, reason),
          drop: () => socket.terminate(),
        })
        socket.addEventListener('close', gone)
      }
    },
  }
}

function responseOf(answer: BareResponse): Promise<Response> {
  if (answer.ending === 'silent') return new Promise(() => {})
  if (answer.ending === 'dropped') return Promise.reject(new Error('Connection reset.'))
  const { status, headers } = answer
  const empty = status === 204 || status === 304
  return Promise.resolve(new Response(empty ? null : bodyOf(answer), { status, headers }))
}

function bodyOf(answer: BareResponse): ReadableStream<Uint8Array> {
  const chunks = inflated(answer)
  return new ReadableStream({
    pull(controller) {
      const next = chunks.next()
      if (!next.done) controller.enqueue(Buffer.from(next.value))
      else if (answer.ending === 'cut') controller.error(new TypeError('terminated'))
      else if (answer.ending !== 'stalled') controller.close()
    },
  })
}

/** The body as a real `fetch` gives it, which takes the compression off by itself; what is no gzip ends with an error. */
function* inflated(answer: BareResponse): Generator<string | Uint8Array> {
  if (answer.headers['content-encoding'] === 'gzip') yield gunzipSync(bytesOf(answer))
  else yield* answer.body
}
