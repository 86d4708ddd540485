import {
  type HttpHandler,
  HttpResponse,
  http,
  type WebSocketHandler,
  type WebSocketHandlerEventMap,
  ws,
} from 'msw'
import type { MockSyncServer } from '../mock-server.ts'
import type { BreakableSocket } from '../sockets.ts'

/** The end of a socket that msw has taken over. */
type MswClient = WebSocketHandlerEventMap['connection'][0]['client']

/** How a socket ends that was cut (RFC 6455, section 7.1.5). */
const abnormal = 1006

/**
 * Handlers for `setupServer` or `setupWorker` of msw 2: what is sent to the server's `baseUrl` by the global `fetch` and
 * `WebSocket` is answered by it. Real time goes by there, so `server` is to be `mockSyncServer({ clock: 'real' })`.
 *
 * A socket that is refused opens first and is closed at once, since msw opens every socket. In Node before 22 there is no
 * global `WebSocket` to take over, and clients poll unless they are given one.
 *
 * @example
 * const server = mockSyncServer({ clock: 'real', baseUrl: 'https://api.example.com/sync/v1' })
 * const network = setupServer(...mswHandlers(server))
 */
export function mswHandlers(
  server: Pick<MockSyncServer, 'baseUrl' | 'fetch' | 'upgrade'>,
): (HttpHandler | WebSocketHandler)[] {
  const link = ws.link(`${server.baseUrl.replace(/^http/, 'ws')}/ws`)
  return [
    http.all(`${server.baseUrl}/*`, async ({ request }) => {
      try {
        return await server.fetch(request)
      } catch {
        return HttpResponse.error()
      }
    }),
    link.addEventListener('connection', async ({ client }) => {
      const request = new Request(client.url.href.replace(/^ws/, 'http'))
      const accept = await server.upgrade(request).catch(() => undefined)
      if (typeof accept === 'function') accept(serverEnd(client))
      else client.close(abnormal)
    }),
  ]
}

function serverEnd(client: MswClient): BreakableSocket {
  return {
    // What is sent is there at once.
    bufferedAmount: 0,
    send: (data) => client.send(data),
    close: (code, reason) => client.close(code, reason),
    addEventListener: (type, listener) => client.addEventListener(type, () => listener()),
    terminate: () => client.close(abnormal),
  }
}
