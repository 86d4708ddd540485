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

/** A socket that msw has intercepted. */
type MswClient = WebSocketHandlerEventMap['connection'][0]['client']

/** The close code of a socket whose connection broke (RFC 6455, section 7.1.5). */
const abnormal = 1006

/**
 * Creates handlers for `setupServer` or `setupWorker` of msw 2: `server` answers all requests and sockets to its
 * `baseUrl` that use the global `fetch` and `WebSocket`. Such clients use real time, so create `server` by
 * `mockSyncServer({ clock: 'real' })`.
 *
 * A refused socket opens and is closed at once, since msw opens every socket. Node before 22 has no global `WebSocket`,
 * so clients poll there unless their `environment` has one.
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
    // Messages arrive at once.
    bufferedAmount: 0,
    send: (data) => client.send(data),
    close: (code, reason) => client.close(code, reason),
    addEventListener: (type, listener) => client.addEventListener(type, () => listener()),
    terminate: () => client.close(abnormal),
  }
}
