import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2, createSecureServer } from 'node:http2'
import { createServer as createHttps, request as requestHttps } from 'node:https'
import { type AddressInfo, connect as connectTcp } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { Deferred } from '../../src/base/deferred.ts'
import type { Environment } from '../../src/base/environment.ts'
import { ConfigurationError, memoryStore, SyncClient, silentLogger } from '../../src/index.ts'
import { attachSockets, createSyncService, nodeHandler, type SyncService } from '../../src/server/index.ts'
import { certificate } from '../support/certificate.ts'
import { shown } from '../support/device.ts'
import { insert } from './harness.ts'

let service: SyncService

beforeEach(async () => {
  const authenticate = async (request: Request) =>
    request.headers.get('authorization') === 'Bearer good' ? { userId: 'ann' } : null
  service = createSyncService({ database: 'memory:', authenticate, ownerField: 'userId' })
  await service.write([insert('1')])
})

afterEach(() => service.close())

/** Has `server` listen; gives its port. */
async function listening(server: {
  listen(port: number, host: string): unknown
  address(): unknown
  close(): unknown
}) {
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1')
    setImmediate(resolve)
  })
  return (server.address() as AddressInfo).port
}

describe('over HTTP/2', () => {
  const asking = async (port: number, secure: { readonly ca: Buffer } | undefined, headers: object) => {
    const client = connectHttp2(`${secure ? 'https' : 'http'}://localhost:${port}`, secure)
    const stream = client.request({ ...headers })
    const [answer] = await once(stream, 'response')
    const body = await text(stream)
    client.close()
    return [answer[':status'], JSON.parse(body)]
  }

  test.each(['in the clear', 'over TLS'])(
    'requests get the same responses as over HTTP/1, %s',
    async (how) => {
      const { key, cert } = certificate()
      const handle = nodeHandler(service)
      const server = how === 'over TLS' ? createSecureServer({ key, cert }, handle) : createHttp2(handle)
      const port = await listening(server)
      const secure = how === 'over TLS' ? { ca: cert } : undefined
      const authorization = 'Bearer good'
      const delta = await asking(port, secure, { ':path': '/sync/v1/delta?since=0', authorization })
      expect(delta).toMatchObject([200, { sid: 1, frames: [{ id: '1' }] }])
      expect(await asking(port, secure, { ':path': '/sync/v1/bootstrap' })).toMatchObject([
        401,
        { error: { code: 'no_token' } },
      ])
      const plain = await asking(port, secure, { ':path': '/sync/v1/ws', authorization })
      expect(plain).toMatchObject([426, { error: { code: 'upgrade_required' } }])
      const odd = await asking(port, secure, { ':path': '/sync/v1/delta', ':method': 'TRACE' })
      expect(odd).toMatchObject([400, { error: { code: 'bad_request' } }])
    },
  )

  test('a request has the URL that it names', async () => {
    const urls: string[] = []
    const fetch = async ({ url }: Request) => {
      urls.push(url)
      return Response.json({})
    }
    const port = await listening(createHttp2(nodeHandler({ fetch })))
    await asking(port, undefined, { ':path': '/sync/v1/delta?since=0' })
    expect(urls).toEqual([`http://localhost:${port}/sync/v1/delta?since=0`])
  })

  test('the connection of a body that is too long does not stay open after the response', async () => {
    const handled = new Deferred<void>()
    const handle = nodeHandler(service)
    const answer = async (...[incoming, outgoing]: Parameters<typeof handle>) => {
      await handle(incoming, outgoing)
      handled.resolve()
    }
    const server = createHttp2((incoming, outgoing) => void answer(incoming, outgoing))
    const client = connectHttp2(`http://localhost:${await listening(server)}`)
    onTestFinished(() => client.destroy())
    const stream = client.request({ ':path': '/sync/v1/tx', ':method': 'POST', authorization: 'Bearer good' })
    stream.end('x'.repeat(3_000_000))
    const [head] = await once(stream, 'response')
    expect([head[':status'], JSON.parse(await text(stream)).error.code]).toEqual([413, 'too_large'])
    await handled.promise
  })
})

/** What a client needs of its surroundings to trust `ca`. */
function trusting(ca: Buffer): Partial<Environment> {
  class TrustingSocket extends WebSocket {
    constructor(url: string) {
      super(url, { ca })
    }
  }
  const fetch: Environment['fetch'] = (url, { method = 'GET', headers, body }) =>
    new Promise((resolve, reject) => {
      const fields = Object.fromEntries(new Headers(headers))
      const request = requestHttps(url, { method, ca, headers: fields }, (answer) => {
        const { statusCode = 0 } = answer
        const stream = Readable.toWeb(answer) as ReadableStream
        const given = { status: statusCode, headers: { 'Content-Type': 'application/json' } }
        resolve(new Response(stream, given))
      })
      request.on('error', reject)
      request.end(body)
    })
  return { fetch, WebSocket: TrustingSocket as unknown as Environment['WebSocket'] }
}

test.each([
  ['HTTPS', false],
  ['HTTP/2 that allows HTTP/1', true],
])('over %s, a client reads, writes, and receives pushes on its socket', async (_, isHttp2) => {
  const { key, cert } = certificate()
  const handle = nodeHandler(service)
  const server = isHttp2
    ? createSecureServer({ key, cert, allowHTTP1: true }, handle)
    : createHttps({ key, cert }, handle)
  const sockets = attachSockets(server, service)
  const baseUrl = `https://localhost:${await listening(server)}/sync/v1`
  const client = new SyncClient({
    baseUrl,
    token: 'good',
    identity: 'ann',
    store: memoryStore(),
    logger: silentLogger,
    environment: trusting(cert),
  })
  await client.start()
  await expect.poll(() => client.status.connection.state).toBe('socket')
  await client.mutate((m) => {
    m.insert('Todo', { id: '2', n: 2 })
  }).accepted
  await service.write([insert('3', { n: 3 })])
  await expect.poll(() => Object.keys(shown(client, 'Todo'))).toEqual(['1', '2', '3'])
  await client.close()
  sockets.terminate()
})

test('an invalid `Host` header with a path is refused, and changes no URL', async () => {
  const socket = connectTcp(await listening(createServer(nodeHandler(service))), '127.0.0.1')
  const fields = 'Host: x/sync/v1/bootstrap?\r\nAuthorization: Bearer good\r\n'
  socket.write(`GET /elsewhere HTTP/1.1\r\n${fields}\r\n`)
  expect(await text(socket)).toMatch(/^HTTP\/1.1 400 /)
})

test('a refused socket request ends its connection, whether the client closes it or not', async () => {
  const server = createServer(nodeHandler(service))
  attachSockets(server, service)
  const socket = connectTcp({ port: await listening(server), host: '127.0.0.1', allowHalfOpen: true })
  onTestFinished(() => void socket.destroy())
  socket.write('GET /sync/v1/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  const [answer] = await once(socket, 'data')
  expect(String(answer)).toMatch(/^HTTP\/1.1 401 /)
  expect(String(answer)).toContain('connection: close\r\n')
  await once(socket.resume(), 'end')
  await new Promise((resolve) => server.close(resolve))
})

describe('closed sockets', () => {
  /** A socket that is open and never answers, and the server that it is open on. */
  const deaf = async () => {
    const server = createServer(nodeHandler(service))
    const sockets = attachSockets(server, service)
    const port = await listening(server)
    const socket = connectTcp(port, '127.0.0.1')
    const key = 'dGhlIHNhbXBsZSBub25jZQ=='
    const fields = `Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}`
    socket.write(`GET /sync/v1/ws?token=good HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n${fields}\r\n\r\n`)
    await once(socket, 'data')
    socket.resume()
    return { server, sockets, socket }
  }

  test('end soon if the client does not confirm the close', async () => {
    const { server, sockets, socket } = await deaf()
    const ended = once(socket, 'close')
    const began = performance.now()
    sockets.close()
    await new Promise((resolve) => server.close(resolve))
    await ended
    expect(performance.now() - began).toBeLessThan(10_000)
  })

  test('end without a response when they are terminated, and so does one whose request fails', async () => {
    const { sockets, socket } = await deaf()
    const ended = once(socket, 'close')
    sockets.terminate()
    await ended
    const failing = createServer()
    attachSockets(failing, { path: '/sync/v1', upgrade: () => Promise.reject(new Error('no')) })
    const asking = new WebSocket(`ws://127.0.0.1:${await listening(failing)}/sync/v1/ws`)
    await expect(once(asking, 'open')).rejects.toThrow('socket hang up')
  })

  test('are not opened for earlier requests', async () => {
    const [asked, decided] = [new Deferred<void>(), new Deferred<void>()]
    const server = createServer()
    const sockets = attachSockets(server, {
      path: '/sync/v1',
      upgrade: async (request) => {
        asked.resolve()
        await decided.promise
        return service.upgrade(request)
      },
    })
    const socket = new WebSocket(`ws://127.0.0.1:${await listening(server)}/sync/v1/ws?token=good`)
    const refused = once(socket, 'unexpected-response')
    await asked.promise
    sockets.close()
    decided.resolve()
    const [, answer] = await refused
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([503, '1'])
    await new Promise((resolve) => server.close(resolve))
  })

  test('leave the server to other handlers, and no further socket opens', async () => {
    const { server, sockets } = await deaf()
    sockets.close()
    expect(server.listenerCount('upgrade')).toBe(0)
    sockets.terminate()
  })
})

test.each([
  [
    'since a package is missing, names the package',
    new ConfigurationError('hono', 'Install hono.'),
    'Install hono.',
  ],
  [
    'for another reason, says why only in its log',
    new Error('secret'),
    'The service cannot answer; its log says why.',
  ],
])('a service that cannot start, %s', async (_, error, message) => {
  const logged: unknown[] = []
  const logger = { ...silentLogger, error: (...line: unknown[]) => void logged.push(line) }
  const handle = nodeHandler({ fetch: () => Promise.reject(error) }, { logger })
  const port = await listening(createServer((incoming, outgoing) => void handle(incoming, outgoing)))
  const response = await fetch(`http://127.0.0.1:${port}/sync/v1/delta?since=0`)
  expect([response.status, await response.json()]).toEqual([500, { error: { code: 'internal', message } }])
  expect(response.headers.get('Access-Control-Allow-Origin')).toBe('*')
  expect(logged).toEqual([['The service cannot answer; its log says why.', { reason: error.message }]])
})

test('a service that cannot start answers preflights, so that a page can read the reason', async () => {
  const handle = nodeHandler({ fetch: () => Promise.reject(new Error('no')) })
  const port = await listening(createServer(handle))
  const { ok, headers } = await fetch(`http://127.0.0.1:${port}/sync/v1/delta`, { method: 'OPTIONS' })
  expect(ok).toBe(true)
  expect(headers.get('Access-Control-Allow-Origin')).toBe('*')
  expect(headers.get('Access-Control-Allow-Headers')).toBe('Authorization,Content-Type,X-API-Key')
})

/** The port of a server that reads each body before the service could. */
function readingFirst() {
  const handle = nodeHandler(service)
  const server = createServer(async (incoming, outgoing) => {
    await text(incoming)
    await handle(incoming, outgoing)
  })
  return listening(server)
}

test('a request whose body was read before is a fault of the server, and rejects nothing that a client wrote', async () => {
  const port = await readingFirst()
  const baseUrl = `http://127.0.0.1:${port}/sync/v1`
  const client = new SyncClient({ baseUrl, token: 'good', logger: silentLogger })
  onTestFinished(() => client.close())
  const errors: string[] = []
  client.on('error', ({ message }) => errors.push(message))
  await client.start()
  await client.ready()
  const transaction = client.mutate((m) => {
    m.insert('Todo', { id: '2' })
  })
  await expect.poll(() => errors).not.toEqual([])
  expect(errors[0]).toMatch(
    / answered 500: Something else has read the request body; mount Instep before anything that reads bodies/,
  )
  expect(transaction.state).not.toBe('rejected')
})

test('a request whose body was read before is answered if it needs no body, and if the caller may send it', async () => {
  const port = await readingFirst()
  const asked = async (method: string, endpoint: string, body?: string, token = 'good') => {
    const init = {
      method,
      headers: { authorization: `Bearer ${token}` },
      ...(body !== undefined && { body }),
    }
    return (await fetch(`http://127.0.0.1:${port}/sync/v1/${endpoint}`, init)).status
  }
  expect(await asked('OPTIONS', 'tx')).toBe(204)
  expect(await asked('POST', 'bootstrap')).toBe(200)
  expect(await asked('POST', 'bootstrap', '{}')).toBe(200)
  expect(await asked('POST', 'nowhere', '{}')).toBe(404)
  expect(await asked('POST', 'tx', '{}')).toBe(500)
  expect(await asked('POST', 'tx', '{}', 'bad')).toBe(401)
})
