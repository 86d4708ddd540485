import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse, Http2Stream } from 'node:http2'
import type { Duplex } from 'node:stream'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Clock } from '../base/environment.ts'
import { Failure, tooManyRequests } from './http/failure.ts'

/** The characters of a `Host` header (RFC 9112, section 3.2). None of them can start a path. */
const host = /^[\w.:[\]-]*$/

/**
 * How long a client may read nothing of a response, in ms. This is longer than the log takes to return the next batch
 * or to fail.
 */
const stalledMs = 120_000

/**
 * The error codes that end an HTTP/2 stream after a complete and after an incomplete response (RFC 9113, section 7).
 */
const noError = 0x0
const internalError = 0x2

/** A body that may be longer than this, in bytes, is not read to its end after its response is made. */
const shortBytes = 65_536

/** How long the rest of such a body is read, a piece at a time and with pauses, in ms. */
const lingerMs = 2_000
const pauseMs = 100

/** A request of Node, by HTTP/1 or HTTP/2. */
export type Incoming = IncomingMessage | Http2ServerRequest
export type Outgoing = ServerResponse | Http2ServerResponse

/**
 * Converts a request of Node to a Request of the web. Returns `undefined` if its URL or method is invalid there. If the
 * body was read before, the body of the result counts as used. `signal` aborts once the client has gone.
 */
export function toRequest(incoming: Incoming, signal?: AbortSignal): Request | undefined {
  const { method = 'GET', headers } = incoming
  const url = targetOf(incoming)
  const authority = headers[':authority'] ?? headers.host ?? ''
  if (typeof authority !== 'string' || !host.test(authority)) return undefined
  const fields = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    // In HTTP/2 the headers include the method and the URL (RFC 9113, section 8.3).
    if (name.startsWith(':')) continue
    for (const item of [value ?? []].flat()) fields.append(name, item)
  }
  // The target is a path or a whole URL (RFC 9112, section 3.2).
  const address = url.startsWith('/') ? `http://${authority || 'localhost'}${url}` : url
  const init = { method, headers: fields, ...(signal && { signal }) }
  const bodiless = method === 'GET' || method === 'HEAD'
  const isRead = incoming.readableDidRead || incoming.readableEnded
  const body = bodiless ? undefined : { body: isRead ? ' ' : Readable.toWeb(incoming), duplex: 'half' }
  try {
    const request = new Request(address, { ...init, ...body } as RequestInit)
    // If the body was read before, mark it as used: a handler that needs the body reports that, and other requests
    // work.
    if (isRead) void request.text()
    return request
  } catch {
    // The error message contains the URL, which may contain a token.
    return undefined
  }
}

/** The response to a request that cannot be converted. */
export function badRequest(): Response {
  return failureResponse(
    new Failure(400, 'bad_request', 'The URL or the method of the request is not valid.'),
  )
}

/** A response that also closes the connection. */
export function failureResponse({ status, body, headers }: Failure): Response {
  const closing = { ...headers, 'Cache-Control': 'no-store', Connection: 'close' }
  return Response.json(body, { status, headers: closing })
}

const refusal = tooManyRequests('Too many requests wait to begin. Wait for the time in `Retry-After`.', 1)
/** With these, a page of another origin can read the refusal. */
const refusalHeaders = {
  ...refusal.headers,
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'Retry-After',
  'Cache-Control': 'no-store',
}

/** The response to a request that is not admitted. */
export function refusedResponse(): Response {
  return Response.json(refusal.body, { status: refusal.status, headers: refusalHeaders })
}

/**
 * Sends the same as {@link refusedResponse}, without making a Response: thousands may be refused in one turn. Call only if
 * the body has arrived or is short.
 */
export function sendRefusal(outgoing: Outgoing): void {
  outgoing.writeHead(refusal.status, { ...refusalHeaders, 'Content-Type': 'application/json' })
  outgoing.end(JSON.stringify(refusal.body))
}

/** The text of the credentials in a request, not checked; empty without credentials. */
export function credentialsOf({ headers, url = '' }: Incoming): string {
  const { authorization, cookie } = headers
  const inQuery = /[?&]token=[^&]*/.exec(url)?.[0]
  return String(authorization ?? headers['x-api-key'] ?? inQuery ?? cookie ?? '')
}

/** The path of a request, without its query. */
export function pathOf(incoming: Incoming): string {
  return targetOf(incoming).split('?')[0] ?? ''
}

/** Express removes the mount path from `url` and keeps the whole in `originalUrl`. */
function targetOf(incoming: Incoming & { readonly originalUrl?: string }): string {
  return incoming.originalUrl ?? incoming.url ?? '/'
}

/**
 * Sends `response` as fast as the client reads. If the client disconnects, or reads nothing for `maxMs`, reading of the
 * body is cancelled.
 */
export async function sendResponse(response: Response, outgoing: Outgoing, maxMs = stalledMs): Promise<void> {
  await sendOpen(response, outgoing, maxMs, true)
}

/** Sends `response`. Ends it only if `end` is true, or if it has no body. */
async function sendOpen(response: Response, outgoing: Outgoing, maxMs: number, end: boolean): Promise<void> {
  const headers = new Headers(response.headers)
  // HTTP/2 has no such headers, and Node refuses them (RFC 9113, section 8.2.2).
  if ('stream' in outgoing) for (const name of ['Connection', 'Upgrade']) headers.delete(name)
  outgoing.writeHead(response.status, Object.fromEntries(headers))
  if (response.body === null) {
    outgoing.end()
    return
  }
  outgoing.setTimeout(maxMs, () => abortResponse(outgoing))
  // Node and the web have different types for the same stream.
  const body = Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0])
  if ('stream' in outgoing) onAborted(outgoing.stream, () => body.destroy())
  await pipeline(body, outgoing, { end })
}

/** Whether the body of a request has not arrived, and may be long. HTTP/2 holds such a body back by itself. */
export function isLongUnread(incoming: Incoming): incoming is IncomingMessage {
  if ('stream' in incoming || incoming.complete) return false
  return !(Number(incoming.headers['content-length']) <= shortBytes)
}

/**
 * Sends the response to a request whose long body is not read, and then ends the connection. Before that, it reads a
 * little of the body for a while: a connection that ends with unread bytes takes the response from the client.
 */
export async function sendLast(
  response: Response,
  incoming: IncomingMessage,
  outgoing: Outgoing,
  clock: Clock,
): Promise<void> {
  incoming.removeAllListeners('data').pause()
  const last = new Response(response.body, response)
  last.headers.set('Connection', 'close')
  await sendOpen(last, outgoing, stalledMs, false)
  await linger(incoming, clock)
  outgoing.end()
}

function linger(incoming: IncomingMessage, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    let left = lingerMs / pauseMs
    let cancel = () => {}
    const end = () => {
      cancel()
      resolve()
    }
    const readOn = () => {
      if (left === 0 || incoming.destroyed) return end()
      left -= 1
      cancel = clock.after(pauseMs, readOn)
      incoming.resume()
    }
    incoming
      .on('data', () => incoming.pause())
      .once('end', end)
      .once('close', end)
    readOn()
  })
}

/** `pipeline` does not notice a stream that was aborted before the first write, or without an error. */
function onAborted(stream: Http2Stream, listener: () => void): void {
  if (stream.aborted) listener()
  else stream.once('aborted', listener)
}

/** Aborts a response, so that it does not look complete to the client. */
export function abortResponse(outgoing: Outgoing): void {
  if ('stream' in outgoing) outgoing.stream.close(outgoing.stream.writableFinished ? noError : internalError)
  else outgoing.destroy()
}

/** Discards the unread rest of a request body: it would block the next requests on the connection. */
export function discardBody(incoming: Incoming): void {
  if (!incoming.complete) incoming.removeAllListeners('data').resume()
}

/** Answers a request for an upgrade with `response`, and closes the connection even if the client does not. */
export async function refuseUpgrade(response: Response, socket: Duplex): Promise<void> {
  const body = await response.text()
  const headers = new Headers(response.headers)
  headers.set('Connection', 'close')
  headers.set('Content-Length', String(Buffer.byteLength(body)))
  const lines = [...headers].map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.once('finish', () => socket.destroy())
  socket.end(`HTTP/1.1 ${response.status} ${STATUS_CODES[response.status]}\r\n${lines}\r\n${body}`)
}
