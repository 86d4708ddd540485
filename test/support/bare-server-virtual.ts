import { gunzipSync } from 'node:zlib'
import type { BareServer } from './bare-server.ts'
import { type BareRequest, type BareResponse, bytesOf } from './bare-server-faults.ts'
import type { VirtualServer } from './virtual.ts'

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

function requestOf({ method, url, headers }: Request): BareRequest {
  const { pathname, searchParams } = new URL(url)
  return { method, path: pathname, query: searchParams, headers: Object.fromEntries(headers) }
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
