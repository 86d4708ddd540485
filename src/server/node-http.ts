import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse, Http2Stream } from 'node:http2'
import type { Duplex } from 'node:stream'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Failure } from './http/failure.ts'

/** What can stand in a `Host` (RFC 9112, section 3.2): nothing that would be the beginning of a path. */
const host = /^[\w.:[\]-]*$/

/** How long nothing of an answer may be taken, in ms: longer than the log takes to give more of it, or to give it up. */
const stalledMs = 120_000

/** How a stream of HTTP/2 ends behind an answer that is whole, and behind one that is not (RFC 9113, section 7). */
const noError = 0x0
const internalError = 0x2

/** A request of Node's, by HTTP/1 or by HTTP/2. */
export type Incoming = IncomingMessage | Http2ServerRequest
export type Outgoing = ServerResponse | Http2ServerResponse

/**
 * A request of Node's as one of the web's, whose body is used where somebody has read it before; `undefined` where its
 * address or its method is none there.
 */
export function toRequest(incoming: Incoming): Request | undefined {
  const { method = 'GET', headers } = incoming
  const url = targetOf(incoming)
  const authority = headers[':authority'] ?? headers.host ?? ''
  if (typeof authority !== 'string' || !host.test(authority)) return undefined
  const fields = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    // In HTTP/2 the method and the address are among them (RFC 9113, section 8.3).
    if (name.startsWith(':')) continue
    for (const item of [value ?? []].flat()) fields.append(name, item)
  }
  // The target is a path, or a whole address (RFC 9112, section 3.2).
  const address = url.startsWith('/') ? `http://${authority || 'localhost'}${url}` : url
  const init = { method, headers: fields }
  const bodiless = method === 'GET' || method === 'HEAD'
  const isRead = incoming.readableDidRead || incoming.readableEnded
  const body = bodiless ? undefined : { body: isRead ? ' ' : Readable.toWeb(incoming), duplex: 'half' }
  try {
    const request = new Request(address, { ...init, ...body } as RequestInit)
    // What was read here is read there too: whoever needs it can tell, and the rest is answered.
    if (isRead) void request.text()
    return request
  } catch {
    // The error quotes the address, which may hold a token.
    return undefined
  }
}

/** The answer to what is no request of the web's. */
export function badRequest(): Response {
  return refusalOf(new Failure(400, 'bad_request', 'The address or the method of the request is none.'))
}

/** An answer after which the connection ends. */
export function refusalOf({ status, body, headers }: Failure): Response {
  const closing = { ...headers, 'Cache-Control': 'no-store', Connection: 'close' }
  return Response.json(body, { status, headers: closing })
}

/** Express takes what a handler is mounted at off `url`, and keeps the whole beside it. */
function targetOf(incoming: Incoming & { readonly originalUrl?: string }): string {
  return incoming.originalUrl ?? incoming.url ?? '/'
}

/**
 * Sends `response`, no faster than it is taken. A client that goes ends the reading of its body, and so does one that
 * takes nothing for `maxMs`.
 */
export async function sendResponse(response: Response, outgoing: Outgoing, maxMs = stalledMs): Promise<void> {
  const headers = new Headers(response.headers)
  // HTTP/2 knows no such headers, and Node refuses them (RFC 9113, section 8.2.2).
  if ('stream' in outgoing) for (const name of ['Connection', 'Upgrade']) headers.delete(name)
  outgoing.writeHead(response.status, Object.fromEntries(headers))
  if (response.body === null) {
    outgoing.end()
    return
  }
  outgoing.setTimeout(maxMs, () => breakOff(outgoing))
  // Node and the web each have a type for the same stream.
  const body = Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0])
  if ('stream' in outgoing) onAborted(outgoing.stream, () => body.destroy())
  await pipeline(body, outgoing)
}

/** Of a stream that was aborted before it is written to, or without an error, `pipeline` hears nothing. */
function onAborted(stream: Http2Stream, listener: () => void): void {
  if (stream.aborted) listener()
  else stream.once('aborted', listener)
}

/** Ends an answer where it is, so that nobody takes it for whole. */
export function breakOff(outgoing: Outgoing): void {
  if ('stream' in outgoing) outgoing.stream.close(outgoing.stream.writableFinished ? noError : internalError)
  else outgoing.destroy()
}

/** Lets a body that nobody has read to its end pass by: it would hold up the requests behind it. */
export function dropRest(incoming: Incoming): void {
  if (!incoming.complete) incoming.removeAllListeners('data').resume()
}

/** Answers a request for an upgrade with `response`, and ends the connection, whether the other side does or not. */
export async function refuseUpgrade(response: Response, socket: Duplex): Promise<void> {
  const body = await response.text()
  const headers = new Headers(response.headers)
  headers.set('Connection', 'close')
  headers.set('Content-Length', String(Buffer.byteLength(body)))
  const lines = [...headers].map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.once('finish', () => socket.destroy())
  socket.end(`HTTP/1.1 ${response.status} ${STATUS_CODES[response.status]}\r\n${lines}\r\n${body}`)
}
